package cmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"ratescope/internal/file"
	"ratescope/tui/class"
	screenlab "ratescope/tui/lab"
)

// classFlags are the flags of class.
type classFlags struct {
	serve, password, keys string
	most                  int
}

func (f *classFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.serve, "serve", "", "hold a class at HOST:PORT: students come with ssh and get the lab")
	c.Flags().StringVar(&f.password, "password-file", "", "file with the password of the class")
	c.Flags().StringVar(&f.keys, "authorized-keys", "", "file with the public keys of those who may join, as OpenSSH has them")
	c.Flags().IntVar(&f.most, "most", class.DefaultMost, "how many students the class takes")
}

// admission reads who may join.
func (f *classFlags) admission() (class.Admission, error) {
	name, read := f.password, class.Password
	switch {
	case f.password != "" && f.keys != "":
		return class.Admission{}, usagef("--password-file and --authorized-keys exclude each other: give one")
	case f.keys != "":
		name, read = f.keys, class.AuthorizedKeys
	case f.password == "":
		return class.Admission{}, nil
	}
	content, err := file.Read(name)
	if err != nil {
		return class.Admission{}, usageError{Err: err}
	}
	a, err := read(content)
	if err != nil {
		return a, usagef("%s: %v", name, err)
	}
	return a, nil
}

// run serves the class until the teacher leaves or, without a terminal, until it is stopped.
func (f *classFlags) run(c *cobra.Command, o screenlab.Options, seen bool) error {
	admission, err := f.admission()
	if err != nil {
		return err
	}
	if f.most < 1 || f.most > 500 {
		return usagef("a class of %d is not possible: use 1 to 500", f.most)
	}
	key, err := class.HostKey(filepath.Join(xdg.StateHome, "ratescope", "lab_host_key"))
	if err != nil {
		return err
	}
	student := o
	student.Present, student.Trace = false, nil
	wrong, err := f.wrongs(c, seen)
	if err != nil {
		return err
	}
	server, err := class.Listen(class.Options{Address: f.serve, Key: key, Admit: admission, Most: f.most, Lab: student, Wrong: wrong})
	if err != nil {
		return usageError{Err: err}
	}
	ctx, stop := context.WithCancel(c.Context())
	defer stop()
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	if seen {
		o.Class = server.Room.Teacher()
		err = screenlab.Run(ctx, o, tea.WithoutSignalHandler())
	} else {
		fmt.Fprintf(c.OutOrStdout(), "The class is open at %s: students join with %s\n", server.Addr(), server.Invitation())
		<-ctx.Done()
		err = ctx.Err()
	}
	stop()
	if closed := <-served; err == nil {
		err = closed
	}
	return err
}

// wrongs returns the log of wrong passwords: a line each in the state folder, and on stderr where no screen is
// shown.
func (f *classFlags) wrongs(c *cobra.Command, seen bool) (func(net.Addr), error) {
	name, err := xdg.StateFile("ratescope/class.log")
	if err != nil || f.password == "" {
		return nil, err
	}
	return func(from net.Addr) {
		line := fmt.Sprintf("%s wrong password from %s\n", time.Now().UTC().Format(time.RFC3339), from)
		if log, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, _ = log.WriteString(line)
			_ = log.Close()
		}
		if !seen {
			fmt.Fprint(c.ErrOrStderr(), line)
		}
	}, nil
}
