package report

import (
	"strings"

	"ratescope/model/safetext"
)

// PlainMarkdown returns text that Markdown takes for nothing but text.
func PlainMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "|", `\|`, "#",
		`\#`).Replace(safetext.Sentence(text))
}

// CodeSpan returns a name in a code span, in which nothing can end it.
func CodeSpan(name string) string {
	name = safetext.Shorten(safetext.Clean(name), 100, safetext.Ellipsis)
	return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(name) + "`"
}
