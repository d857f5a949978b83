package connect

// Secret is a password. It is not printed, by whatever verb.
type Secret string

// String hides the password.
func (s Secret) String() string { return "(hidden)" }

// GoString hides the password.
func (s Secret) GoString() string { return "(hidden)" }

// SetPassword gives the server a password unless its URL has one.
func (e *Endpoint) SetPassword(p Secret) {
	if e.options.Password == "" {
		e.options.Password = string(p)
	}
}
