#!/bin/sh
# make install: everything is there, and the installed tool works from there.
. "$(dirname "$0")/common.sh"
expect 0 '' cmake --install "$build" --prefix "$scratch/prefix"
expect 0 '^fathom ' "$scratch/prefix/bin/fathom" --version
expect 0 'available' "$scratch/prefix/bin/fathom" doctor
holds [ -f "$scratch/prefix/share/man/man1/fathom.1" ]
holds [ -f "$scratch/prefix/share/man/man1/fathom-machine.1" ]
holds [ -f "$scratch/prefix/share/zsh/site-functions/_fathom" ]
holds [ -f "$scratch/prefix/share/fish/vendor_completions.d/fathom.fish" ]
completion="$scratch/prefix/share/bash-completion/completions/fathom"
holds [ -f "$completion" ]
if command -v bash >/dev/null; then
	expect 0 '^machine$' env PATH="$scratch/prefix/bin:$PATH" bash -c ". '$completion'; COMP_WORDS=(fathom mach) COMP_CWORD=1; _fathom; printf '%s\n' \"\${COMPREPLY[@]}\""
	expect 0 '^--quick$' env PATH="$scratch/prefix/bin:$PATH" bash -c ". '$completion'; COMP_WORDS=(fathom machine --qu) COMP_CWORD=2; _fathom; printf '%s\n' \"\${COMPREPLY[@]}\""
fi
finish
