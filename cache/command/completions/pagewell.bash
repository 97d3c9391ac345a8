# shellcheck shell=bash
# pagewell.bash - what bash completes after `pagewell`.

_pagewell_words() {
	case $1 in
	'') echo 'run explain stat ls top drop warm bench check --help --version' ;;
	run) echo "$(_pagewell_words settings) --verbose" ;;
	explain) echo "$(_pagewell_words settings) --output= --json --all" ;;
	settings)
		echo '--size= --include= --exclude= --fs= --trust= --write= --segment= --report= --log='
		;;
	stat | ls) echo '--json --segment=' ;;
	top) echo '--segment= -d -n' ;;
	drop) echo '--all --segment=' ;;
	warm) echo '--recursive --quiet --segment=' ;;
	bench) echo '--json --seconds=' ;;
	check) echo '--repair --segment=' ;;
	esac
}

_pagewell() {
	local cur=${COMP_WORDS[COMP_CWORD]} command='' at=1 word

	COMPREPLY=()
	if [ "$COMP_CWORD" -gt 1 ]; then
		command=${COMP_WORDS[1]}
	fi
	# Behind run and explain, from the first word that is no option on, it is another
	# program's. (An equals sign is a word of its own to bash.)
	case $command in
	run | explain)
		for ((at = 2; at < COMP_CWORD; at++)); do
			word=${COMP_WORDS[at]}
			case $word in
			--)
				at=$((at + 1))
				break
				;;
			=) at=$((at + 1)) ;;
			-o) at=$((at + 1)) ;;
			-*) ;;
			*) break ;;
			esac
		done
		if [ "$at" -lt "$COMP_CWORD" ]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset "$at"
			else
				mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			fi
			return
		fi
		;;
	esac
	# The value of an option: a path, or nothing that could be known.
	if [ "$cur" = = ] || [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "${cur#=}")
		return
	fi
	case $cur in
	-*) ;;
	*)
		case $command in
		run | explain)
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
			return
			;;
		drop | warm | bench)
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
			return
			;;
		esac
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W \
		"$(_pagewell_words "$command") ${command:+--help --version}" -- "$cur")
	if [[ ${COMPREPLY[0]-} = *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
}

complete -o filenames -F _pagewell pagewell
