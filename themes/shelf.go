package themes

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Shelf is the palettes that can be chosen: first the default for dark terminals, then
// the one for light terminals, then the rest.
type Shelf []Palette

// builtIn holds the theme files that come with the program.
//
//go:embed builtin/*.theme
var builtIn embed.FS

// palettes holds the palettes of the files, the defaults first.
var palettes = sync.OnceValue(func() (s Shelf) {
	for _, name := range []string{"phosphor", "paper", "high-contrast", "colour-blind", "monochrome", "nord", "gruvbox", "dracula",
		"tokyo-night", "catppuccin", "solarized-light"} {
		s = append(s, read(name))
	}
	return s
})

// read returns the palette of a file that comes with the program.
func read(name string) Palette {
	text, err := builtIn.ReadFile("builtin/" + name + Suffix)
	p, wrong := parse(name, string(text), Palette{Dark: true}, Palette{})
	if err = cmp.Or(err, wrong); err != nil {
		panic(err) // TestPalettesAreWhole and TestSixteenColoursCanBeRead read them all
	}
	return p
}

// BuiltIn returns the palettes that come with the program.
func BuiltIn() Shelf { return slices.Clone(palettes()) }

// Names lists the themes.
func (s Shelf) Names() []string {
	names := make([]string, len(s))
	for i, p := range s {
		names[i] = p.Name
	}
	return names
}

// Default returns the theme for a dark or a light terminal.
func (s Shelf) Default(dark bool) *Theme {
	if i := slices.IndexFunc(s, func(p Palette) bool { return p.Dark == dark }); i >= 0 {
		return New(s[i])
	}
	return New(palettes()[0])
}

// Find returns the theme of that name.
func (s Shelf) Find(name string) (*Theme, error) {
	if i := slices.Index(s.Names(), name); i >= 0 {
		return New(s[i]), nil
	}
	return nil, fmt.Errorf("there is no theme %q: use one of %s", name, strings.Join(s.Names(), ", "))
}

// Suffix is what the names of theme files end in.
const Suffix = ".theme"

// Add returns the shelf with the theme files of a folder on it, in the order of their
// names; one that bears the name of a theme on the shelf takes its place. A folder that
// is not there adds nothing.
func (s Shelf) Add(folder fs.FS) (Shelf, error) {
	files, _ := fs.Glob(folder, "*"+Suffix) // the pattern is a valid one
	shelf := append(Shelf(nil), s...)
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return s, fmt.Errorf("theme file %q cannot be read: %w", file, err)
		}
		p, err := Parse(strings.TrimSuffix(path.Base(file), Suffix), string(text))
		if err != nil {
			return s, err
		}
		if i := slices.Index(shelf.Names(), p.Name); i >= 0 {
			shelf[i] = p
		} else {
			shelf = append(shelf, p)
		}
	}
	return shelf, nil
}

// Parse reads a palette: lines of `meaning = #rrggbb`, with the meanings of Palette in
// lower case, `dark = false` for a light one, and `#` before a comment line. What is left
// out is as in the default theme of that tone.
func Parse(name, text string) (Palette, error) {
	return parse(name, text, palettes()[0], palettes()[1])
}

// parse is Parse, with the palettes from which a dark and a light one take what is left out.
func parse(name, text string, p, light Palette) (Palette, error) {
	given := make(map[string]string)
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			return Palette{}, fmt.Errorf("theme %q, line %d: %q has no equals sign: write meaning = #rrggbb", name, n+1, line)
		}
		given[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	switch dark := given["dark"]; dark {
	case "", "true":
	case "false":
		p = light
	default:
		return Palette{}, fmt.Errorf("theme %q: dark is %q: write true or false", name, dark)
	}
	delete(given, "dark")
	p.Name = name
	fields := reflect.ValueOf(&p).Elem()
	for i := range fields.NumField() {
		key := strings.ToLower(fields.Type().Field(i).Name)
		value, ok := given[key]
		if !ok || fields.Field(i).Kind() != reflect.String || key == "name" {
			continue
		}
		if _, err := ParseHex(value); err != nil || value == "" {
			return Palette{}, fmt.Errorf("theme %q: %s is %q: write a colour as #rrggbb", name, key, value)
		}
		fields.Field(i).SetString(value)
		delete(given, key)
	}
	for key := range given {
		return Palette{}, fmt.Errorf("theme %q: there is no meaning %q to colour", name, key)
	}
	return p, nil
}
