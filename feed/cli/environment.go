package cli

import (
	"os"
	"strings"
)

// Environment is what the environment of the process says about the server.
type Environment struct {
	URLs         []string // RATESCOPE_REDIS
	PasswordFile string   // RATESCOPE_PASSWORD_FILE
	Password     string   // REDISCLI_AUTH
}

// TakeEnvironment reads the environment and removes what may hold a password from it, so
// that no program that is started from here, such as the command of an alert, inherits it.
func TakeEnvironment() Environment {
	e := Environment{
		URLs:         strings.Fields(os.Getenv("RATESCOPE_REDIS")),
		PasswordFile: os.Getenv("RATESCOPE_PASSWORD_FILE"),
		Password:     os.Getenv("REDISCLI_AUTH"),
	}
	os.Unsetenv("RATESCOPE_REDIS")
	os.Unsetenv("REDISCLI_AUTH")
	return e
}
