"""The few lines each shell needs: pass the words on, show what comes back, and fall back to file names where that is asked for."""

from __future__ import annotations

_BASH = """\
# bash completion for nodusctl. Now:  source <(nodusctl completion bash)
# For every new shell:  nodusctl completion bash > ~/.local/share/bash-completion/completions/nodusctl
_nodusctl() {
    local current="${COMP_WORDS[COMP_CWORD]}" line
    local -a words=() found=()
    # Bash breaks words at = and :, which our names may hold; the part before the last break stays on the line by itself.
    local typed="${COMP_LINE:0:COMP_POINT}" rest
    rest="${typed##*[[:space:]]}"
    words=("${COMP_WORDS[@]:1:COMP_CWORD-1}" "$rest")
    COMPREPLY=()
    while IFS= read -r line; do
        case "$line" in
            :files) while IFS= read -r line; do found+=("$line"); done < <(compgen -f -- "$current"); compopt -o filenames 2>/dev/null ;;
            :folders) while IFS= read -r line; do found+=("$line"); done < <(compgen -d -- "$current"); compopt -o filenames 2>/dev/null ;;
            *) found+=("${line#"${rest%"$current"}"}") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete bash "${words[@]}" 2>/dev/null)
    COMPREPLY=("${found[@]}")
    case "${COMPREPLY[0]-}" in *=|*/) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _nodusctl nodusctl
"""

_ZSH = """\
#compdef nodusctl
# zsh completion for nodusctl. Now:  source <(nodusctl completion zsh)
# For every new shell, in a folder of $fpath:  nodusctl completion zsh > ~/.zfunc/_nodusctl
_nodusctl() {
    local line word about
    local -i ret=1
    local -a plain described
    while IFS= read -r line; do
        case "$line" in
            :files) _files && ret=0 ;;
            :folders) _files -/ && ret=0 ;;
            *$'\\t'*) word="${line%%$'\\t'*}"; about="${line#*$'\\t'}"; described+=("${word//:/\\\\:}:$about") ;;
            *) plain+=("$line") ;;
        esac
    done < <("${words[1]}" __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)
    (( ${#plain} )) && compadd -a plain && ret=0
    (( ${#described} )) && _describe 'nodusctl' described && ret=0
    # Anything but 0 says that nothing was found, and zsh goes on to guess.
    return ret
}
if [[ "${funcstack[1]}" == _nodusctl ]]; then
    _nodusctl "$@"
elif (( $+functions[compdef] )); then
    compdef _nodusctl nodusctl
fi
"""

_FISH = """\
# fish completion for nodusctl. Now:  nodusctl completion fish | source
# For every new shell:  nodusctl completion fish > ~/.config/fish/completions/nodusctl.fish
function __nodusctl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l current (commandline -ct)
    for line in ($words[1] __complete fish $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path "$current"
            case ':folders'
                __fish_complete_directories "$current"
            case '*'
                echo $line
        end
    end
end
complete -c nodusctl -f -a '(__nodusctl_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
