package connect

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"
)

// badURL returns the error of a URL that cannot be used. why must hold no part of it that
// could be of a password.
func badURL(raw, why string) error {
	return fmt.Errorf("URL %q does not parse: %s; write redis://[user:password@]host:port/db, rediss://…, unix://path or "+
		"redis+sentinel://host:26379/name", redact(raw), why)
}

// bare is an address that was written without a scheme, and that can hold no password.
var bare = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])(:[0-9]*)?(/[0-9]*)?$`)

// noScheme returns the error of an address that was written as other programs take it, without a
// scheme, with the URL to write instead; nil when raw is anything else.
func noScheme(raw string) error {
	switch {
	case bare.MatchString(raw):
		return fmt.Errorf("URL %q does not parse: it names no scheme; write redis://%s, or rediss:// with TLS", raw, raw)
	case strings.HasPrefix(raw, "/") && address.MatchString(raw):
		return fmt.Errorf("URL %q does not parse: it names no scheme; write unix://%s", raw, raw)
	}
	return nil
}

// parserSays returns what a parser says about a URL. Its text repeats parts of the URL, so
// that it is given only for one that can hold no password.
func parserSays(raw string, err error) string {
	if strings.ContainsAny(raw, "@?") {
		return "check the port, the number of the database and the options, and write %2F for a / in the password, %3F for ?, %23 for # and " +
			"%40 for @"
	}
	var ue *url.Error // its own text repeats the whole URL
	if errors.As(err, &ue) {
		err = ue.Err
	}
	return strings.TrimPrefix(err.Error(), "redis: ")
}

// parseServer reads the URL of one server; u is raw after the options of this program were
// taken out.
func parseServer(raw string, u *url.URL) (*redis.Options, error) {
	switch u.Scheme {
	case "redis", "rediss", "unix":
	case "":
		return nil, badURL(raw, "it names no scheme")
	default:
		return nil, badURL(raw, fmt.Sprintf("its scheme %q is not known", u.Scheme))
	}
	if skip := u.Query().Get("skip_verify"); skip != "" && skip != "false" && skip != "0" {
		return nil, fmt.Errorf("URL %q asks not to verify the server's certificate, so that a server in between could read the password: name "+
			"the authority that signed it with --tls-ca instead", redact(raw))
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, badURL(raw, parserSays(raw, err))
	}
	return o, nil
}

// address is what a person may see of a host and a path that come before no password.
var address = regexp.MustCompile(`^[A-Za-z0-9._:\[\],/-]*$`)

// redact removes the password and the options of a URL, also of one that does not parse.
// The user name stays. Of a URL in which they cannot be told apart from the rest only the
// scheme stays.
func redact(raw string) string {
	scheme, rest, found := strings.Cut(raw, "://")
	if !found {
		scheme, rest = "", raw
	} else {
		scheme += "://"
	}
	before, _, _ := strings.Cut(rest, "?")
	switch at := strings.LastIndexByte(before, '@'); {
	case at < 0 && strings.Contains(rest, "@"):
		return scheme + "…" // a ? in the password, or an @ in an option
	case at < 0:
		rest = before
	default:
		user, _, _ := strings.Cut(before[:at], ":")
		if rest = before[at+1:]; !address.MatchString(rest) || strings.Contains(raw[len(scheme)+at+1:], "@") {
			return scheme + "…" // an @ and a ? in the password
		}
		if user != "" {
			rest = user + "@" + rest
		}
	}
	return scheme + rest
}
