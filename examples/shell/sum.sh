#!/bin/sh
# sum.sh FILE - adds up orders, with nothing but what the shell itself can do.
count=0 apple=0 pear=0 plum=0 quince=0 other=0 check=0
while read -r number fruit price; do
	count=$((count + 1))
	case $fruit in
	apple) apple=$((apple + price)) ;;
	pear) pear=$((pear + price)) ;;
	plum) plum=$((plum + price)) ;;
	quince) quince=$((quince + price)) ;;
	*) other=$((other + price)) ;;
	esac
	check=$(((check * 31 + number + price) % 1000003))
done <"$1"
echo "$count orders, check $check"
echo "apple $apple, pear $pear, plum $plum, quince $quince, other $other"
