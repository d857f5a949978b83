package grpclimit_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"ratescope/limiter"
	"ratescope/limiter/grpclimit"
)

var twoAnHour = limiter.Limit{Count: 2, Window: time.Hour}

func memory(t *testing.T) *limiter.Memory {
	t.Helper()
	m, err := limiter.NewMemory(limiter.SlidingLog)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// serve runs the health service behind the interceptors, and returns a client of it.
func serve(t *testing.T, c grpclimit.Config, options ...grpc.DialOption) (grpc_health_v1.HealthClient, *grpclimit.Interceptors) {
	t.Helper()
	limit, err := grpclimit.New(c)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	listener := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	connection, err := grpc.NewClient("passthrough:///test", options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return grpc_health_v1.NewHealthClient(connection), limit
}

func check(c grpc_health_v1.HealthClient) error {
	_, err := c.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	return err
}

// TestServer denies the third call, with how long to wait, and a stream as well as a call.
func TestServer(t *testing.T) {
	client, limit := serve(t, grpclimit.Config{Limiter: memory(t), Limit: twoAnHour, OnFailure: grpclimit.FailClosed})
	for range 2 {
		if err := check(client); err != nil {
			t.Fatal(err)
		}
	}
	err := check(client)
	s := status.Convert(err)
	if s.Code() != codes.ResourceExhausted || len(s.Details()) != 1 {
		t.Fatalf("%v %v", err, s.Details())
	}
	if info, ok := s.Details()[0].(*errdetails.RetryInfo); !ok || info.RetryDelay.AsDuration() <= 0 || info.RetryDelay.AsDuration() > time.Hour {
		t.Errorf("%v", s.Details()[0])
	}
	stream, err := client.Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a stream: %v", err)
	}
	if got := limit.Counts(); got != (grpclimit.Counts{Admitted: 2, Denied: 2}) {
		t.Errorf("%+v", got)
	}
}

// TestClient gives up a call at once whose turn would come after its deadline.
func TestClient(t *testing.T) {
	cap, err := grpclimit.New(grpclimit.Config{Limiter: memory(t), Limit: twoAnHour, OnFailure: grpclimit.FailClosed})
	if err != nil {
		t.Fatal(err)
	}
	client, _ := serve(t, grpclimit.Config{
		Limiter: memory(t), Limit: limiter.Limit{Count: 100, Window: time.Hour}, OnFailure: grpclimit.FailClosed,
	}, grpc.WithUnaryInterceptor(cap.Client))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for i, want := range []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted} {
		if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != want {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

type refusing struct{ limiter.Limiter }

func (refusing) AllowN(context.Context, string, limiter.Limit, int64) (limiter.Decision, error) {
	return limiter.Decision{}, errors.New("connection refused")
}

// TestWithoutStore does as was chosen, and tells why.
func TestWithoutStore(t *testing.T) {
	for choice, want := range map[grpclimit.Failure]codes.Code{grpclimit.FailOpen: codes.OK, grpclimit.FailClosed: codes.Unavailable} {
		var told string
		limit, err := grpclimit.New(grpclimit.Config{
			Limiter: refusing{}, Limit: twoAnHour, OnFailure: choice,
			OnError: func(_ context.Context, method string, err error) { told = method + ": " + err.Error() },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = limit.Unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, func(context.Context, any) (any, error) { return nil, nil })
		if status.Code(err) != want || told != "/a.B/C: connection refused" {
			t.Errorf("%v, told %q", err, told)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for name, c := range map[string]grpclimit.Config{
		"no limiter": {Limit: twoAnHour, OnFailure: grpclimit.FailOpen},
		"no choice":  {Limiter: memory(t), Limit: twoAnHour},
		"no limit":   {Limiter: memory(t), OnFailure: grpclimit.FailOpen},
		"no count":   {Limiter: memory(t), Limit: limiter.Limit{Window: time.Hour}, OnFailure: grpclimit.FailOpen},
	} {
		if _, err := grpclimit.New(c); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	limit, err := grpclimit.New(grpclimit.Config{
		Limiter: memory(t), OnFailure: grpclimit.FailOpen, LimitFor: func(context.Context, string) limiter.Limit { return limiter.Limit{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := limit.Unary(context.Background(), nil, &grpc.UnaryServerInfo{FullMethod: "/a.B/C"}, nil); status.Code(err) != codes.Internal {
		t.Errorf("a call without a limit: %v", err)
	}
}
