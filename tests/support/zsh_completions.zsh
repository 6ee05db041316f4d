# Prints what an interactive zsh offers for a line: zsh -f zsh_completions.zsh DIRECTORY LINE, where DIRECTORY has _heaptap.
# A second zsh, on a terminal that zpty makes, completes the line; its compadd prints what it is given.
zmodload zsh/zpty
setup=$1/setup.zsh
cat >$setup <<END
PROMPT=
fpath=($1 \$fpath)
autoload -Uz compinit
compinit -u -D
END
cat >>$setup <<'END'
bindkey '^M' undefined
bindkey '^J' undefined
bindkey '^I' complete-word
null-line() { echo -E - $'\0' }
compprefuncs=(null-line)
comppostfuncs=(null-line exit)
zstyle ':completion:*' list-grouped false
zstyle ':completion:*' insert-tab false
compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "$@"
    return
  fi
  typeset -a hits
  builtin compadd -A hits "$@"
  print -rl -- $hits
  builtin compadd "$@"
}
echo ok
END
zpty terminal zsh -f -i
zpty -w terminal "source $setup"
repeat 50; do
  zpty -r terminal line
  [[ $line == ok* ]] && break
done
zpty -w terminal "$2"$'\t'
integer inside=0
while zpty -r terminal; do :; done | while IFS= read -r line; do
  if [[ $line == *$'\0\r' ]]; then
    ((inside++)) && break
    continue
  fi
  ((inside)) && print -r -- ${line%$'\r'}
done
zpty -d terminal
