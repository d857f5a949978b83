#!/bin/sh
# release.sh VERSION MODULE DIRECTORY writes the modules of the commit that is checked out into a
# directory that GOPROXY=file://DIRECTORY serves: MODULE, and each adapter in a module of its own, all of
# one version. MODULE is the path under which they are to be imported; the sources keep theirs.
set -eu
version=$1 module=$2 proxy=$3
case $module in */*) ;; *) echo "release: give the path, as in MODULE=host/owner/ratescope" >&2; exit 2 ;; esac
case $version in v[0-9]*.[0-9]*.[0-9]*) ;; *) echo "release: the version $version is not one of Go: use v1.0.0" >&2; exit 2 ;; esac
case $version in v0.*|v1.*) ;; *) echo "release: $version needs another module path, MODULE/${version%%.*}" >&2; exit 2 ;; esac
old=$(go list -m)
tree=$(mktemp -d); trap 'rm -rf "$tree"' EXIT
git archive HEAD | tar -x -C "$tree"
cd "$tree"
find . -name '*.go' -not -path '*/testdata/*' -exec sed -i.old -e "s#\"$old/#\"$module/#g" -e "s#\"$old\"#\"$module\"#g" {} +
find . -name '*.go.old' -exec rm {} +
adapters="limiter/grpclimit limiter/otellimit limiter/promlimit"
go mod edit -module="$module"
for dir in $adapters; do
  (cd "$dir" && go mod edit -module="$module/$dir" -dropreplace="$old" -droprequire="$old" -require="$module@$version")
done
# pack NAME DIR writes what a proxy has of one module.
pack() {
  to=$proxy/$1/@v
  mkdir -p "$to"
  cp "$2/go.mod" "$to/$version.mod"
  printf '{"Version":"%s","Time":"%s"}\n' "$version" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" > "$to/$version.info"
  (cd "$2" && git init -q . && git -c core.bigFileThreshold=1 add -A . && git -c user.name=release -c user.email=release@localhost commit -q -m "$version" &&
    git archive --format=zip --prefix="$1@$version/" -o "$to/$version.zip" HEAD && rm -rf .git)
  echo "$version" >> "$to/list"
  echo "$1@$version"
}
for dir in $adapters; do pack "$module/$dir" "$dir"; done
for mod in $(find . -mindepth 2 -name go.mod); do rm -rf "$(dirname "$mod")"; done # modules of their own
pack "$module" .
