# share.sh - run by dash and bash: commands of one script that read on where another one
# stopped, because they share an open file description. IN is the folder of the inputs.

{
	head -c 10
	echo
	tail -n +2 | cksum
} <"$IN/text"
{
	head -n 3
	echo --
	sed 2q
	echo --
	grep -m 1 fern
	echo --
	cat | cksum
} <"$IN/text"
{
	tail -c +50001 | cksum
	cat | wc -c
} <"$IN/text"
{
	dd bs=1 count=7 status=none
	dd bs=10 skip=2 count=3 status=none
	cat | cksum
} \
	<"$IN/text"
{
	head -n 2900 >/dev/null
	wc -l
	wc -c
} <"$IN/text"

# a descriptor read by the shell itself, its subshells, and programs that it starts
exec 3<"$IN/text"
read -r line <&3 && echo "1 $line"
(read -r line <&3 && echo "2 $line")
echo "3 $(head -n 1 <&3)"
read -r line <&3 && echo "4 $line"
head -c 26 <&3
exec 4<&3
read -r line <&4 && echo "6 $line"
exec 3<&-
read -r line <&4 && echo "7 $line"
sh -c 'read -r line <&4 && echo "8 $line"'
read -r line <&4 | cat
(exec sed 1q <&4)
read -r line <&4 && echo "11 $line"
n=0
while read -r line; do
	n=$((n + 1))
	if [ $((n % 300)) = 0 ]; then
		echo "child $(head -c 4 <&4)"
	fi
done <&4
echo "$n lines"
exec 4<&-

# one script's loop around another program's reading of the same input
n=0
while read -r one two three; do
	n=$((n + 1))
	case $n in
	5 | 50) head -n 2 ;;
	100) sed -n 3q ;;
	120) break ;;
	*) : "$one" "$two" "$three" ;;
	esac
done <"$IN/text"

# read and written by turns
cp "$IN/odd" both
exec 5<>both
read -r line <&5 && echo "first $line"
echo OVERWRITTEN >&5
read -r line <&5 && echo "rest $line"
read -r line <&5 && echo "next $line"
printf changed >&5
head -c 20 <&5
exec 5<&-

# appended to while it is being read
: >grow
exec 6<grow
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	echo "line $i" >>grow
	read -r line <&6 && echo "saw $line"
	read -r line <&6 || echo "end"
done
: >grow
read -r line <&6 || echo "cut: $line"
exec 6<&-

# a last line without a newline, an empty file, a file that is sourced
while read -r line || [ -n "$line" ]; do last=$line; done <"$IN/unended"
echo "$last"
while read -r line; do echo never; done <"$IN/empty"
echo 'echo sourced "$last" >>sourced' >part
i=0
while [ $i -lt 20 ]; do
	. ./part
	i=$((i + 1))
done
cat <<HERE | sed 2d
here $last
gone
there
HERE
trap 'read -r line <"$IN/text" && echo "trap $line"' EXIT
