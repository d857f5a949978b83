package shell

import (
	"github.com/charmbracelet/colorprofile"

	"ratescope/themes"
)

// theming chooses the theme of a surface: by the terminal's background until a person has picked one, and
// by how many colours the terminal has.
type theming struct {
	on      *surface
	shelf   themes.Shelf
	ascii   bool // nothing beyond ASCII
	fixed   bool // a person has picked it
	dark    bool // the terminal's background is
	sixteen bool // the terminal has sixteen colours
}

// set puts a theme on. A terminal of sixteen colours gets its own.
func (d *theming) set(t *themes.Theme) {
	if d.sixteen {
		t = themes.Sixteen(d.dark)
	}
	d.on.Canvas.SetTheme(t, d.ascii)
	d.on.stale = true
}

// profiled takes in how many colours the terminal has.
func (d *theming) profiled(p colorprofile.Profile) {
	if d.sixteen = p == colorprofile.ANSI; d.sixteen {
		d.set(d.on.Canvas.Look.Theme)
	}
}

// background takes in whether the terminal's background is dark.
func (d *theming) background(dark bool) {
	d.dark = dark
	if (!d.fixed || d.sixteen) && d.on.Canvas.Look.Dark != dark {
		d.set(d.shelf.Default(dark))
	}
}
