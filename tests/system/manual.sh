#!/bin/bash
# The manual pages and the shells' completions: well made, and of all commands, options and knobs
# that there are.
# shellcheck source=tests/system/_command.sh
. "$(dirname "$0")/_command.sh"

man=$root/cache/command/man
completions=$root/cache/command/completions

mapfile -t commands < <("$bin" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
# options COMMAND: its long ones, by its --help
options() {
	{
		"$bin" "$1" --help | grep -oE '(^|[ [])--[a-z]+' | grep -oE -- '--[a-z]+'
		printf '%s\n' --help --version
	} | sort -u
}

why=
[ "${#commands[@]}" -ge 8 ] || why="only ${commands[*]}"
verdict 'commands are found' "$why"

# ---- manual pages ----------------------------------------------------------------------

if command -v mandoc >/dev/null; then
	for page in "$man"/*.[17]; do
		why=
		mandoc -T lint -W warning "$page" >"$work/lint" 2>&1 || why=$(cat "$work/lint")
		[ -n "$why" ] || [ ! -s "$work/lint" ] || why=$(cat "$work/lint")
		verdict "${page##*/} is clean" "$why"
	done
	mandoc -T ascii "$man/pagewell.1" | sed 's/.\x08//g' >"$work/page.1"
	mandoc -T ascii "$man/pagewell.7" | sed 's/.\x08//g' >"$work/page.7"
	why=
	for command in "${commands[@]}"; do
		grep -qE "^     pagewell $command " "$work/page.1" || why="$why no synopsis of $command;"
		grep -qE "^     $command( |$)" "$work/page.1" || why="$why nothing about $command;"
		for option in $(options "$command"); do
			case $option in
			--help | --version) ;;
			--output | --recursive | --quiet) ;; # by their letters
			*) grep -qF -- "$option" "$work/page.1" || why="$why $command $option;" ;;
			esac
		done
	done
	verdict 'pagewell(1) has all commands and options' "$why"
	why=
	for knob in $(grep -ohE '"PAGEWELL_[A-Z]+"' "$root/shim/knobs.c" | tr -d '"' | sort -u); do
		grep -q "$knob" "$work/page.7" || why="$why $knob"
	done
	verdict 'pagewell(7) has all knobs' "$why"
else
	echo 'skip manual pages - there is no mandoc here'
fi

# ---- completions -----------------------------------------------------------------------

why=
bash --norc -c 'source "$1" && complete -p pagewell' - "$completions/pagewell.bash" \
	>"$work/out" 2>&1 || why=$(cat "$work/out")
grep -q -- '-F _pagewell pagewell$' "$work/out" || why="$why${why:+; }$(cat "$work/out")"
verdict 'bash: it is there' "$why"

# bash_offers WORD...: what bash would offer for the last one
bash_offers() {
	bash --norc -c '
		source "$1"
		shift
		COMP_WORDS=(pagewell "$@")
		COMP_CWORD=$#
		_pagewell
		printf "%s\n" "${COMPREPLY[@]%=}"' - "$completions/pagewell.bash" "$@" 2>&1
}
why=
offered=$(bash_offers '')
for command in "${commands[@]}"; do
	grep -qx "$command" <<<"$offered" || why="$why no $command;"
	offers=$(bash_offers "$command" --)
	for option in $(options "$command"); do
		grep -qx -- "$option" <<<"$offers" || why="$why $command $option;"
	done
	for option in $offers; do
		case $option in --measure) why="$why $command $option is for itself;" ;; esac
		options "$command" | grep -qx -- "$option" || why="$why $command has no $option;"
	done
done
verdict 'bash: all commands and options, and no others' "$why"
why=
want 'of c' check "$(bash_offers c)"
touch "$work/cwd/file.one" "$work/cwd/file.two"
want files 'file.one file.two' "$(bash_offers warm -q file | sort | xargs)"
want programs bash "$(bash_offers run --size=1M bas | grep -x bash | sort -u)"
want 'what follows a program' 'file.one file.two' "$(bash_offers run -- cat file | sort | xargs)"
want 'the value of an option' 'file.one file.two' "$(bash_offers stat --segment = file | sort | xargs)"
want 'after =' 'file.one file.two' "$(bash_offers run --log = file | sort | xargs)"
verdict 'bash: arguments' "$why"

for shell in zsh fish; do
	case $shell in zsh) file=$completions/_pagewell ;; *) file=$completions/pagewell.fish ;; esac
	why=
	for command in "${commands[@]}"; do
		grep -qw "$command" "$file" || why="$why no $command;"
		for option in $(options "$command"); do
			grep -qE -- "(--|-l )${option#--}\\b" "$file" || why="$why $command $option;"
		done
	done
	verdict "$shell: all commands and options" "$why"
	if command -v $shell >/dev/null; then
		why=$($shell -n "$file" 2>&1) || why="$why (status $?)"
		verdict "$shell: reads it" "$why"
	else
		echo "skip $shell: reads it - there is no $shell here"
	fi
done
if command -v fish >/dev/null; then
	why=
	offered=$(HOME=$work fish --no-config -c "source '$completions/pagewell.fish'; complete -C 'pagewell '" 2>&1)
	for command in "${commands[@]}"; do
		grep -qP "^$command\t" <<<"$offered" || why="$why no $command;"
	done
	offered=$(HOME=$work fish --no-config -c "source '$completions/pagewell.fish'; complete -C 'pagewell check --'" 2>&1)
	grep -q '^--repair' <<<"$offered" || why="$why check --repair: $offered"
	verdict 'fish: offers them' "$why"
fi

exit "$failed"
