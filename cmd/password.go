package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"ratescope/feed/connect"
	"ratescope/internal/file"
	"ratescope/model/safetext"
)

// commandTime bounds the program that prints a password.
const commandTime = 10 * time.Second

// password returns the password of the server: of --askpass, --password-file, the target,
// RATESCOPE_PASSWORD_FILE or REDISCLI_AUTH, the first of them that is there. One in the
// URL goes before those of the environment.
func (s *settings) password() (connect.Secret, error) {
	switch {
	case s.Flags.Password != "" && s.PasswordFile != "":
		return "", errors.New("--askpass and --password-file both give a password: give one of them")
	case s.Flags.Password != "":
		return s.Flags.Password, nil
	case s.PasswordFile != "":
		return passwordIn(s.PasswordFile)
	case s.target.PasswordFile != "":
		return passwordIn(s.target.PasswordFile)
	case len(s.target.PasswordCommand) > 0:
		return passwordOf(s.target.PasswordCommand)
	case s.Environment.PasswordFile != "":
		return passwordIn(s.Environment.PasswordFile)
	}
	return connect.Secret(s.Environment.Password), nil
}

// GivenPassword returns the password that the command line gives, "" where it gives none. Those of the
// environment and of targets are for Redis.
func (s *settings) GivenPassword() (connect.Secret, error) {
	switch {
	case s.Flags.Password != "" && s.PasswordFile != "":
		return "", usageError{errors.New("--askpass and --password-file both give a password: give one of them")}
	case s.PasswordFile == "":
		return s.Flags.Password, nil
	}
	password, err := passwordIn(s.PasswordFile)
	if err != nil {
		return "", usageError{err}
	}
	return password, nil
}

// passwordIn reads a password from the first line of a file.
func passwordIn(name string) (connect.Secret, error) {
	text, err := file.Read(name)
	if err != nil {
		return "", err
	}
	return firstLine(text, "the password file "+safetext.Clean(name))
}

// passwordOf runs a program, without a shell, and takes the first line that it prints.
func passwordOf(command []string) (connect.Secret, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if err != nil {
		return "", fmt.Errorf("the password_command %s does not give a password: %w", safetext.Clean(command[0]), err)
	}
	return firstLine(text, "the password_command "+safetext.Clean(command[0]))
}

func firstLine(text []byte, where string) (connect.Secret, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if p := strings.TrimRight(string(line), "\r"); p != "" {
		return connect.Secret(p), nil
	}
	return "", fmt.Errorf("%s has no password in its first line", where)
}
