#!/bin/sh
# setting.sh FILE NAME: what the setting of that name is; a script that reads its settings
# line by line up to the one that it needs.
while read -r key value; do
	if [ "$key" = "$2" ]; then
		echo "$key is $value"
		exit 0
	fi
done <"$1"
exit 1
