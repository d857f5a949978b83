package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redirected reports whether a key is on another node than the one asked.
func Redirected(err error) bool {
	if err == nil {
		return false
	}
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask || redis.IsTryAgainError(err)
}

// Code returns the first word of an error reply: "WRONGTYPE", "NOPERM", "LOADING".
func Code(err error) string {
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return ""
	}
	word, _, _ := strings.Cut(reply.Error(), " ")
	return word
}

// Away reports whether err concerns the whole server and not one command.
func Away(err error) bool {
	if err == nil || errors.Is(err, redis.Nil) {
		return false
	}
	if !errors.As(err, new(redis.Error)) { // else it is the reply to one command, and the connection itself is well
		return true
	}
	return redis.IsLoadingError(err) || Unauthorized(err) || redis.IsMasterDownError(err) ||
		redis.IsClusterDownError(err) || redis.IsMaxClientsError(err) || redis.HasErrorPrefix(err, "BUSY ")
}

// Unauthorized reports whether the server refused the user name or password.
func Unauthorized(err error) bool {
	return err != nil && (redis.IsAuthError(err) || wrongPassword(err))
}

// wrongPassword reports whether a server before Redis 6 refused the password: its reply has
// no code of its own.
func wrongPassword(err error) bool { return redis.HasErrorPrefix(err, "invalid password") }

// refusals are what the codes of a server's error replies mean, and what to do: a clause
// that goes on after the server's name.
var refusals = map[string]string{
	"WRONGPASS": "refuses the user name or password: correct it with --askpass, --password-file, or the target's password_file",
	"NOAUTH":    "wants a password: give it with --askpass, --password-file, or the target's password_file",
	"LOADING":   "is loading its data: nothing can be read or decided until that is done, then readings start by themselves",
	"BUSY": "is busy with a script that does not end: nothing can be read or decided, readings go on when it is over or after " +
		"SCRIPT KILL",
	"MASTERDOWN":  "is a replica that has lost its master and serves nothing old: readings go on when the link is back",
	"CLUSTERDOWN": "says that the cluster is down: readings go on when its slots are served again",
	"READONLY":    "is a replica, which takes no writes: watching works, fire at its master",
	"OOM":         "is out of memory and takes no writes: watching works; free memory, raise maxmemory or choose a policy that evicts",
	"MISCONF":     "cannot save to its disk and takes no writes: watching works; its log says what is wrong with the disk",
	"NOREPLICAS":  "has too few replicas and takes no writes: watching works; bring replicas back or lower min-replicas-to-write",
}

// Explain turns what go wrong with a server into one sentence with the remedy. It
// never repeats a password.
func Explain(err error, shown string) string {
	say := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	text := err.Error()
	if says := refusals[Code(err)]; says != "" {
		return shown + " " + says
	}
	if Code(err) == "NOPERM" {
		return say("%s does not permit this user what watching needs: %s", shown, Remedy(err))
	}
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var reply *ReplyError
	switch {
	case errors.As(err, &reply):
		return say("what listens at %s is not a Redis, for it %s: check the address", shown, reply.Why)
	case errors.Is(err, ErrReadOnly):
		return text
	case redis.IsMaxClientsError(err):
		return say("%s takes no more clients: raise maxclients there or close some", shown)
	case wrongPassword(err):
		return shown + " " + refusals["WRONGPASS"]
	case strings.Contains(text, "AUTH") && strings.Contains(text, "without any password configured"):
		return say("%s has no password, but the URL gives one: leave it out", shown)
	case strings.Contains(text, "DB index is out of range"):
		return say("%s has no database of that number: correct the end of the URL", shown)
	case strings.HasPrefix(strings.ToLower(text), "err unknown command 'time'"):
		return say("%s does not know TIME, which watching needs: for a sentinel write redis+sentinel://host:port/name, else allow the "+
			"command", shown)
	case strings.Contains(text, "cluster support disabled"):
		return say("%s is not a cluster: leave out ?cluster=true, and give --redis only once", shown)
	case errors.As(err, &dns):
		return say("the name %q of %s does not resolve: check the spelling", dns.Name, shown)
	case errors.As(err, new(tls.RecordHeaderError)), strings.Contains(text, "first record does not look like a TLS handshake"):
		return say("%s does not speak TLS: use redis:// instead of rediss://", shown)
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return say("%s shows a certificate of an unknown authority: name the file of that authority", shown)
	case errors.As(err, new(x509.HostnameError)):
		return say("%s shows a certificate for another name: say which name to expect", shown)
	case errors.As(err, &certificate):
		return say("%s shows a certificate that does not hold: %s", shown, certificate.Err)
	case strings.Contains(text, "tls: "):
		return say("%s ended the TLS handshake: %s", shown, text[strings.Index(text, "tls: "):])
	case errors.Is(err, syscall.ECONNREFUSED):
		return say("nothing listens at %s: start the server or correct the address", shown)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOENT):
		return say("there is no socket at %s: start the server or correct the path", shown)
	case errors.Is(err, fs.ErrPermission):
		return say("this user may not open %s: change the permissions of the socket", shown)
	case TimedOut(err):
		if strings.HasPrefix(shown, "rediss:") {
			return say("%s does not answer: it is frozen, behind a firewall, or speaks no TLS (then use redis://)", shown)
		}
		return say("%s does not answer: it is frozen, overloaded or behind a firewall", shown)
	case strings.Contains(text, "all sentinels"), strings.Contains(text, "master name"):
		return say("no sentinel of %s knows the master: check the sentinels and the name", shown)
	case strings.Contains(text, "parse"), strings.Contains(text, "invalid reply"), strings.Contains(text, "unexpected reply"),
		strings.Contains(text, "HTTP"):
		return say("what listens at %s is not a Redis: check the port", shown)
	case Cut(err):
		if strings.HasPrefix(shown, "rediss:") {
			return say("%s closed the connection: it stopped, or wants a client certificate", shown)
		}
		return say("%s closed the connection: it stopped, wants TLS (rediss://) or is not a Redis", shown)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return say("there is no way to %s from here: check the network", shown)
	}
	return say("%s cannot be reached: %s", shown, strings.TrimPrefix(text, "redis: "))
}

// Cut reports whether the other side, or something on the way, has ended the connection.
func Cut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// TimedOut says that err is a wait that took too long.
func TimedOut(err error) bool {
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}

// Forbidden returns the command that a NOPERM reply says the user may not run, in lower
// case and with its subcommand as in "config|get"; "" when err says something else, or
// speaks of keys or channels.
func Forbidden(err error) string {
	if Code(err) != "NOPERM" {
		return ""
	}
	_, rest, _ := strings.Cut(err.Error(), "run the '")
	command, _, closed := strings.Cut(rest, "'")
	if !closed {
		return ""
	}
	return strings.ToLower(command)
}

// Remedy names the ACL rule that would permit what a NOPERM reply forbids. Its text is
// "NOPERM this user has no permissions to run the 'x' command" (Redis 6 and later
// differ in small words) or speaks of keys or channels.
func Remedy(err error) string {
	if command := Forbidden(err); command != "" {
		return "allow it with ACL SETUSER … +" + command
	}
	if strings.Contains(err.Error(), "key") {
		return "allow reading with ACL SETUSER … %R~pattern (or ~pattern before Redis 7)"
	}
	return "ask for the missing permission"
}

// frozen keeps which nodes of a cluster did not answer in time, for all clients of an endpoint: while others answer, those
// are not asked for the slots, for which a client asks any node. The zero value knows no node.
type frozen struct{ nodes sync.Map } // by address: until when a node is left alone, zero for one that answers

// frozenFor is how long a node that did not answer in time is left alone.
const frozenFor = 5 * time.Second

// others returns whether another node answers, and whether a node is to be left alone for that reason.
func (f *frozen) others(addr string) (answer, leave bool) {
	frozen := false
	for at, until := range f.nodes.Range {
		if waits := until.(time.Time).After(time.Now()); at == addr {
			frozen = waits
		} else {
			answer = answer || !waits
		}
	}
	return answer, answer && frozen
}

// frozenHook is the hook of the client of a node.
type frozenHook struct {
	*frozen
	addr string
}

// note takes the outcome of asking the node.
func (h frozenHook) note(err error) error {
	if TimedOut(err) {
		h.nodes.Store(h.addr, time.Now().Add(frozenFor))
	} else if !Away(err) {
		h.nodes.Store(h.addr, time.Time{})
	}
	return err
}

// DialHook implements redis.Hook.
func (h frozenHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook. A node is waited for as long as any other server where others can tell the slots.
func (h frozenHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		answer, leave := false, false
		if cmd.Name() == "cluster" {
			answer, leave = h.others(h.addr)
		}
		if leave {
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
		if answer {
			limited, cancel := context.WithTimeout(ctx, Timeout)
			defer cancel()
			ctx = limited
		}
		return h.note(next(ctx, cmd))
	}
}

// ProcessPipelineHook implements redis.Hook.
func (h frozenHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return h.note(next(ctx, cmds)) }
}
