# A language server that does as its directory says. Each of these files, if it is there, changes it:
#   silent   answers nothing          dies     ends at once          pulls   wants to be asked for diagnostics
#   first    is run at the start, and what it prints is said    later    the same when a text is changed
# It counts its starts in `starts` and keeps its environment in `env`. A text with BAD in it has a fault.
echo $$ >> starts
env > env
if [ -e dies ]; then exit 1; fi
if [ -e first ]; then . ./first; fi

send() {
  printf 'Content-Length: %d\r\n\r\n%s' "$(printf %s "$1" | wc -c)" "$1"
}

field() {
  printf %s "$body" | tr -d '\n' | sed -n "$1"
}

fault='[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":5}},"severity":1,"source":"script","message":"this is bad"}]'

handle() {
  id=$(field 's/.*"id":\([0-9]*\).*/\1/p')
  method=$(field 's/.*"method":"\([^"]*\)".*/\1/p')
  uri=$(field 's/.*"uri":"\([^"]*\)".*/\1/p')
  if [ -e silent ]; then return; fi
  case "$method" in
    initialize)
      provides='{"textDocumentSync":1}'
      if [ -e pulls ]; then provides='{"textDocumentSync":1,"diagnosticProvider":{"interFileDependencies":false}}'; fi
      send "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"capabilities\":$provides}}"
      ;;
    initialized)
      send '{"jsonrpc":"2.0","id":900,"method":"workspace/configuration","params":{"items":[{"section":"deep.er"}]}}'
      send '{"jsonrpc":"2.0","method":"experimental/unheardOf","params":{"odd":true}}'
      ;;
    textDocument/didOpen | textDocument/didChange)
      if [ -e later ]; then . ./later; fi
      list='[]'
      case "$body" in *BAD*) list=$fault ;; esac
      printf %s "$list" > last
      version=$(field 's/.*"version":\([0-9]*\).*/\1/p')
      if [ ! -e pulls ]; then
        send "{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/publishDiagnostics\",\"params\":{\"uri\":\"$uri\",\"version\":$version,\"diagnostics\":$list}}"
      fi
      ;;
    textDocument/diagnostic)
      send "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"kind\":\"full\",\"items\":$(cat last)}}"
      ;;
    workspace/symbol)
      place="{\"uri\":\"file:///x.lang\",\"range\":{\"start\":{\"line\":0,\"character\":0},\"end\":{\"line\":0,\"character\":3}}}"
      send "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":[{\"name\":\"thing\",\"kind\":12,\"location\":$place},{\"name\":\"file\",\"kind\":1,\"location\":$place}]}"
      ;;
    textDocument/hover)
      send "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"contents\":\"a thing\"}}"
      ;;
    '')
      # An answer to what we asked.
      printf %s "$body" > configured
      ;;
    *)
      if [ -n "$id" ]; then send "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}}"; fi
      ;;
  esac
}

while read -r line; do
  line=$(printf %s "$line" | tr -d '\r')
  case "$line" in
    Content-Length:*) length=${line#*: } ;;
    '') body=$(head -c "$length"); handle ;;
  esac
done
