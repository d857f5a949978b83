package cmd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"ratescope/feed/connect"
	"ratescope/feed/metrics"
	"ratescope/model/collect"
	"ratescope/model/report"
)

// exportGC is how many percent the heap of an exporter grows until it is collected. Each scrape of
// 10,000 keys makes 22 MB of garbage: at 100 percent the process takes 187 MB with them, at 50 it
// takes 142. GOGC in the environment wins.
const exportGC = 50

func newExport(p *program) *cobra.Command {
	c := helped("export")
	address := c.Flags().String("listen", "localhost:9464", "address to answer on, HOST:PORT or :PORT for all of this machine's")
	most := c.Flags().Int("max-keys", metrics.DefaultMaxKeys,
		"how many keys may have series, beside throttled and near ones; the rest are counted")
	hosts := c.Flags().StringSlice("host", nil,
		"name under which the exporter is reached, beside addresses, this machine's name, names of one word and *.svc; others are refused")
	var access metrics.Access
	c.Flags().StringVar(&access.Cert, "web-cert", "", "certificate file (PEM) to answer with over TLS, with --web-key")
	c.Flags().StringVar(&access.Key, "web-key", "", "key file (PEM) of the certificate")
	c.Flags().StringVar(&access.Users, "web-users", "",
		"file of those who may read, one name:bcrypt a line, as htpasswd -nB prints it (default: everyone)")
	c.Flags().IntVar(&access.Connections, "max-connections", metrics.DefaultConnections, "how many connections there may be at once")
	slots := c.Flags().String("slots", "",
		"hash slots whose limiters are watched, as in 0-8191, so that several exporters share a server (default: all)")
	shard := c.Flags().String("shard", "", "part of the limiters that is watched, as in 1/4 for the first of four exporters (default: all)")
	return p.command(c, no("use --listen to say where"), func(c *cobra.Command, args []string) error {
		var err error
		if p.Flags.Slots, err = part(*slots, *shard); err != nil {
			return err
		}
		switch _, _, err := net.SplitHostPort(*address); {
		case err != nil:
			return usagef("--listen %q is no address: give HOST:PORT or :PORT, as in :9464", *address)
		case *most < 1 || *most > 100_000:
			return usagef("--max-keys %d is out of range: give 1 to 100000", *most)
		}
		p.service = true
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(exportGC)
		}
		return p.opened(func(src server) error {
			listen, err := net.Listen("tcp", *address)
			if err != nil {
				if number := syscall.Errno(0); errors.As(err, &number) {
					err = number // the rest only says again what is being done
				}
				return fmt.Errorf("nothing can be served on %s: %w; choose another address with --listen", *address, err)
			}
			scheme := collect.If(access.Cert != "", "https", "http")
			of := collect.If(p.Flags.Slots.All(), "", " of the limiters of slots "+p.Flags.Slots.String())
			fmt.Fprintf(c.ErrOrStderr(), "ratescope: the metrics%s are on %s://%s/metrics\n", of, scheme, listen.Addr())
			log := logTo(c)
			alerts, err := p.alerts(func(a report.Alert) { log(a.Line()) }, func(d report.Delivery) { log(d.String()) })
			if err != nil {
				return err
			}
			defer alerts.Close()
			return metrics.Serve(c.Context(), alerts.Tap(p.Follow(src, reloaded(log, alerts))), listen,
				metrics.New(metrics.Options{MaxKeys: *most, Mask: p.names.Mask, Hosts: *hosts, Build: buildText(p.version), Firing: alerts.Firing,
					Deliveries: alerts.Deliveries, Access: access, Stream: p.recording("").Header, Slots: p.Flags.Slots}))
		})
	}, watchFlags)
}

// part reads --slots and --shard, of which one may be given.
func part(slots, shard string) (s connect.Slots, err error) {
	flag := "--slots "
	switch {
	case slots != "" && shard != "":
		return s, usagef("--slots %q and --shard %q both say which limiters are watched: give one of them", slots, shard)
	case slots != "":
		s, err = connect.ParseSlots(slots)
	case shard != "":
		flag = "--shard "
		s, err = connect.ParseShard(shard)
	}
	if err != nil {
		return s, usagef("%s%w", flag, err)
	}
	return s, nil
}
