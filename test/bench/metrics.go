package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// sample is one line of a metrics page.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// maxMetricLine is the longest line of a metrics page that is read.
const maxMetricLine = 1 << 20

// readMetrics returns the samples of the named metrics from a page in the Prometheus text format. Other lines are not
// looked at, since a page of the API server has tens of thousands of them.
func readMetrics(page io.Reader, names ...string) ([]sample, error) {
	wanted := make(map[string]bool, len(names))
	for _, name := range names {
		wanted[name] = true
	}
	var samples []sample
	lines := bufio.NewScanner(page)
	lines.Buffer(make([]byte, 0, bufio.MaxScanTokenSize), maxMetricLine)
	for lines.Scan() {
		line := lines.Text()
		end := strings.IndexAny(line, "{ ")
		if end < 0 || !wanted[line[:end]] {
			continue
		}
		s, err := parseSample(line, end)
		if err != nil {
			return nil, fmt.Errorf("reading the metrics line %q: %w", line, err)
		}
		samples = append(samples, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading metrics: %w", err)
	}
	return samples, nil
}

// parseSample reads a line whose metric's name ends at the given place.
func parseSample(line string, end int) (sample, error) {
	s := sample{name: line[:end], labels: map[string]string{}}
	rest := line[end:]
	if strings.HasPrefix(rest, "{") {
		var err error
		if rest, err = parseLabels(rest[1:], s.labels); err != nil {
			return s, err
		}
	}
	fields := strings.Fields(rest) // the value, and perhaps a time
	if len(fields) == 0 {
		return s, errNoValue
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return s, fmt.Errorf("reading its value: %w", err)
	}
	s.value = value
	return s, nil
}

type metricError string

func (e metricError) Error() string { return string(e) }

const (
	errNoValue = metricError("it has no value")
	errLabels  = metricError("its labels do not end")
)

// parseLabels reads what follows an opening brace into labels and returns what follows the closing one.
func parseLabels(text string, labels map[string]string) (rest string, err error) {
	for {
		text = strings.TrimLeft(text, ", ")
		if after, closed := strings.CutPrefix(text, "}"); closed {
			return after, nil
		}
		name, value, found := strings.Cut(text, "=")
		if !found {
			return "", errLabels
		}
		quoted, err := strconv.QuotedPrefix(value) // the format's escapes are among Go's
		if err != nil {
			return "", errLabels
		}
		if labels[name], err = strconv.Unquote(quoted); err != nil {
			return "", errLabels
		}
		text = value[len(quoted):]
	}
}
