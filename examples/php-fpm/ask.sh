#!/bin/bash
# ask.sh REQUESTS COUNT: asks the server behind the socket $SERVER for pages of COUNT look-ups.
curl -sS --unix-socket "$SERVER" "http://here/records.php?count=$2&seed=[1-$1]"
