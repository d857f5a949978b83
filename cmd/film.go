package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	screenlab "ratescope/tui/lab"
)

// filmFlags are the flags that draw the lab without a terminal.
type filmFlags struct {
	cast, picture, size string
	from, length        time.Duration
}

func (f *filmFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.cast, "cast", "", "write a stretch of the story as an asciicast (version 2) to this new file")
	c.Flags().StringVar(&f.picture, "picture", "", "write one moment as a picture to this new file: .svg, .ans with colours, or .txt")
	c.Flags().DurationVar(&f.from, "from", 0, "where on the story's clock the picture is, or the cast begins")
	c.Flags().DurationVar(&f.length, "length", 0, "how long the cast is; 0 is to the story's end")
	c.Flags().StringVar(&f.size, "size", "120x36", "columns and rows of what is drawn")
}

// asked reports whether one of the flags is set.
func (f *filmFlags) asked() bool { return f.cast != "" || f.picture != "" }

// draw writes the files that the flags name, and prints their names.
func (f *filmFlags) draw(c *cobra.Command, o screenlab.Options) error {
	film := screenlab.Film{From: f.from, For: f.length}
	if n, err := fmt.Sscanf(f.size, "%dx%d", &film.Width, &film.Height); n != 2 || err != nil {
		return usagef("a size of %q is not possible: use columns and rows, as 120x36", f.size)
	}
	if f.cast != "" {
		if err := newFile(f.cast, func(to io.Writer) error { return screenlab.Cast(c.Context(), o, film, to) }); err != nil {
			return err
		}
		fmt.Fprintf(c.OutOrStdout(), "Wrote %s. Play it with: asciinema play %s\n", f.cast, f.cast)
	}
	if f.picture == "" {
		return nil
	}
	kind := strings.ToLower(filepath.Ext(f.picture))
	if screenlab.Pictures[kind] == nil {
		return usagef("a picture %q is of no form that can be drawn: end its name in .svg, .ans or .txt", f.picture)
	}
	err := newFile(f.picture, func(to io.Writer) error {
		drawn, err := screenlab.Picture(c.Context(), o, film, kind)
		if err == nil {
			_, err = io.WriteString(to, drawn)
		}
		return err
	})
	if err == nil {
		fmt.Fprintf(c.OutOrStdout(), "Wrote %s.\n", f.picture)
	}
	return err
}

// newFile writes a new file. After an error it leaves no incomplete file.
func newFile(name string, write func(io.Writer) error) error {
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return usageError{Err: fmt.Errorf("%w: name a new file", err)}
	}
	err = write(to)
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}
