# bash completion for fathom; verbs and options are asked from the tool itself
_fathom() {
	local current=${COMP_WORDS[COMP_CWORD]} words
	if [ "$COMP_CWORD" -eq 1 ]; then
		words="$(fathom --complete 2>/dev/null) --help --version"
	else
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		-o | --output | --profile | --from | --dump | --html | --record)
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			return
			;;
		esac
		if [ "${COMP_WORDS[1]}" = export ]; then
			case ${COMP_WORDS[COMP_CWORD - 1]} in
			-f | --format)
				mapfile -t COMPREPLY < <(compgen -W "paraver perfetto speedscope callgrind csv json" -- "$current")
				return
				;;
			esac
		fi
		if { [ "${COMP_WORDS[1]}" = report ] || [ "${COMP_WORDS[1]}" = export ]; } && [ "${current#-}" = "$current" ]; then
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			return
		fi
		words=$(fathom --complete "${COMP_WORDS[1]}" 2>/dev/null)
		[ "${COMP_WORDS[1]}" = help ] && words=$(fathom --complete 2>/dev/null)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -F _fathom fathom
