# Puts the parts that several man pages share in the place of their lines "@include FILE", which name files beside the page.
function put(path,    line, status) {
  while ((status = (getline line < path)) > 0) {
    if (line ~ /^@include /) put(directory substr(line, 10)); else print line
  }
  if (status < 0) {
    print "there is no " path > "/dev/stderr"
    exit 1
  }
  close(path)
}

BEGIN {
  directory = ARGV[1]
  if (!sub(/[^\/]*$/, "", directory)) directory = ""
  put(ARGV[1])
  exit
}
