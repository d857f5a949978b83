package recorder

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const databases = 256

// Server is a redis-server of the recorder's own, with a database for every scenario.
type Server struct {
	Addr    string
	cmd     *exec.Cmd
	dir     string
	monitor *monitor
	mu      sync.Mutex
	used    int
}

// StartServer starts a redis-server on a free port, with more arguments if need be.
func StartServer(args ...string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return nil, err
	}
	args = append([]string{"--port", strconv.Itoa(addr.Port), "--bind", "127.0.0.1", "--save", "",
		"--databases", strconv.Itoa(databases), "--dir", dir}, args...)
	s := &Server{Addr: addr.String(), cmd: exec.Command("redis-server", args...), dir: dir}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		if s.monitor, err = startMonitor(s.Addr); err == nil {
			return s, nil
		}
		if time.Now().After(deadline) {
			s.Stop()
			return nil, fmt.Errorf("redis-server at %s does not answer: %w", s.Addr, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Stop ends the server and removes its directory.
func (s *Server) Stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// database reserves the next unused database and connects to it.
func (s *Server) database() (int, *redis.Client) {
	s.mu.Lock()
	db := s.used
	s.used++
	s.mu.Unlock()
	c := redis.NewClient(&redis.Options{
		Addr: s.Addr, DB: db, Protocol: 2, PoolSize: 1, DisableIdentity: true, MaxRetries: -1,
		ReadTimeout: 10 * time.Second,
		Dialer: func(_ context.Context, network, addr string) (net.Conn, error) {
			conn, err := net.Dial(network, addr)
			if err == nil {
				s.monitor.mu.Lock()
				s.monitor.own[conn.LocalAddr().String()] = true
				s.monitor.mu.Unlock()
			}
			return conn, err
		},
	})
	return db, c
}
