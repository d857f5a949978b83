package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// point is a gauge of one key. All points of a key share its labels, which makes up most of
// what a page with thousands of keys allocates.
type point struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair // sorted by name
	value  float64
}

// keyLabels returns the labels of a key, sorted by name.
func keyLabels(key, algorithm string) []*dto.LabelPair {
	return []*dto.LabelPair{
		{Name: new("algorithm"), Value: &algorithm},
		{Name: new("key"), Value: &key},
	}
}

// Desc implements prometheus.Metric.
func (p *point) Desc() *prometheus.Desc { return p.desc }

// Write implements prometheus.Metric.
func (p *point) Write(m *dto.Metric) error {
	m.Label = p.labels
	m.Gauge = &dto.Gauge{Value: &p.value}
	return nil
}
