package connect

import (
	"net"
	"strings"
)

// Loopback says that every address that was given is on this machine: a loopback address, or a
// socket in the file system. The name localhost counts as one. For sentinels it speaks of them.
func (e *Endpoint) Loopback() bool {
	if e.network == "unix" {
		return true
	}
	for _, addr := range e.options.Addrs {
		if !LoopbackHost(addr) {
			return false
		}
	}
	return len(e.options.Addrs) > 0
}

// LoopbackHost says that an address, with a port or without, is on this machine.
func LoopbackHost(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}
