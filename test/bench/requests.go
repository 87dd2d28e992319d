package main

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// request is what tells one sort of API request from another here.
type request struct {
	verb     string // as the API server's metrics say it: POST, PATCH, LIST
	resource string // with the subresource: servicebindings/status
	refused  bool   // answered with a status of 400 or more
}

// writes says whether it changes what is stored. Reviews store nothing: they are questions.
func (r request) writes() bool {
	return !r.asks() && slices.Contains([]string{"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"}, r.verb)
}

// reads says whether somebody waits for the answer to know something. Watches are not counted.
func (r request) reads() bool { return r.verb == "GET" || r.verb == "LIST" || r.asks() }

// asks says whether it is a question in the form of a write, such as a SubjectAccessReview.
func (r request) asks() bool { return strings.HasSuffix(r.resource, "reviews") }

// tally counts requests.
type tally map[request]int64

// minus returns what is in t beyond other, without what is equal in both.
func (t tally) minus(other tally) tally {
	rest := make(tally, len(t))
	maps.Copy(rest, t)
	for r, n := range other {
		rest[r] -= n
	}
	for r, n := range rest {
		if n == 0 {
			delete(rest, r)
		}
	}
	return rest
}

// sum counts the requests that match.
func (t tally) sum(match func(request) bool) int64 {
	var total int64
	for r, n := range t {
		if match(r) {
			total += n
		}
	}
	return total
}

// sorted returns the sorts of requests, the most frequent first.
func (t tally) sorted() []request {
	list := make([]request, 0, len(t))
	for r := range t {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b request) int {
		return cmp.Or(cmp.Compare(t[b], t[a]), cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb),
			strings.Compare(strconv.FormatBool(a.refused), strconv.FormatBool(b.refused)))
	})
	return list
}

const requestMetric = "apiserver_request_total"

// housekeeping are the resources that an API server reads and writes for itself all the time. Bowline touches none of
// them as it runs here, without leader election.
func housekeeping() []string {
	return []string{
		"apiservices", "configmaps", "endpoints", "endpointslices", "flowschemas", "ipaddresses", "leases", "namespaces",
		"prioritylevelconfigurations", "servicecidrs", "services", "storageversions",
	}
}

// counted says whether a request belongs into a tally: it is about a resource, and not a watch, which the API server
// counts when it ends.
func counted(verb, resource string) bool {
	return resource != "" && verb != "WATCH" && verb != "CONNECT" && !slices.Contains(housekeeping(), resource)
}

// served makes a tally of the API server's own metric.
func served(samples []sample) tally {
	t := tally{}
	for _, s := range samples {
		verb, resource := s.labels["verb"], s.labels["resource"]
		if s.name != requestMetric || !counted(verb, resource) {
			continue
		}
		if sub := s.labels["subresource"]; sub != "" {
			resource += "/" + sub
		}
		t[request{verb, resource, s.labels["code"] >= "400"}] += int64(s.value)
	}
	return t
}

// ledger counts the requests that this program itself makes, so that they can be subtracted.
type ledger struct {
	mu   sync.Mutex
	made tally
}

func newLedger() *ledger { return &ledger{made: tally{}} }

// wrap counts what goes through a transport.
func (l *ledger) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err == nil {
			l.note(r, response.StatusCode)
		}
		return response, err //nolint:wrapcheck // a transport hands on what it gets
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (l *ledger) note(r *http.Request, status int) {
	verb, resource, sub := parseRequest(r.Method, r.URL.Path, r.URL.Query().Get("watch") != "")
	if !counted(verb, resource) {
		return
	}
	if sub != "" {
		resource += "/" + sub
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made[request{verb, resource, status >= http.StatusBadRequest}]++
}

// copy returns what was counted so far.
func (l *ledger) copy() tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.made.minus(nil)
}

// parseRequest says what a request is to the API server. It knows the few forms that this program uses.
func parseRequest(method, path string, watch bool) (verb, resource, sub string) {
	parts := resourcePath(path)
	if len(parts) == 0 {
		return method, "", ""
	}
	verb = method
	switch {
	case method == http.MethodGet && watch:
		verb = "WATCH"
	case method == http.MethodGet && len(parts) == 1:
		verb = "LIST"
	}
	if len(parts) > 2 {
		sub = parts[2]
	}
	return verb, parts[0], sub
}

// resourcePath returns the resource of a path, and the name and subresource where it has them; nothing for a path that is
// about no resource.
func resourcePath(path string) []string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2: // api, version
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3: // apis, group, version
		parts = parts[3:]
	default:
		return nil
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	return parts
}
