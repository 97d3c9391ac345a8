# stdin.sh - given to a shell as its standard input, which its commands read from too
echo one
read -r line
this line is read
echo "read: $line"
head -n 1
this line is printed, or run
for i in 1 2 3; do
	read -r line
	echo "$i: $line"
done
first
second
third
cat | cksum
the rest
is summed
