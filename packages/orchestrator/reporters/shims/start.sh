# Read by the commands in the folders beside this file: starts the tool of the same name that comes later in PATH, with the
# server's reporters added to the variable that the project may have set itself.
# shellcheck shell=sh
reporters=${0%/shims/*}
tool=${0##*/}
if [ "$tool" = node ]; then
  case " ${NODE_OPTIONS-} " in
    *"/node/preload.cjs"*) ;;
    *) NODE_OPTIONS="--require=$reporters/node/preload.cjs${NODE_OPTIONS:+ $NODE_OPTIONS}" && export NODE_OPTIONS ;;
  esac
else
  case ":${PYTHONPATH-}:" in
    *":$reporters/python:"*) ;;
    *) PYTHONPATH="$reporters/python${PYTHONPATH:+:$PYTHONPATH}" && export PYTHONPATH ;;
  esac
fi
set -f
before=$IFS
IFS=:
for folder in $PATH; do
  file=${folder:-.}/$tool
  if [ -f "$file" ] && [ -x "$file" ] && [ ! "$file" -ef "$0" ]; then
    IFS=$before
    exec "$file" "$@"
  fi
done
echo "$tool: not found" >&2
exit 127
