package bindings

import (
	"net"
	"net/url"
	"strings"
)

// address puts the parts of a URI together. Each is written so that reading the URI gives back the same.
type address struct {
	scheme             string
	host, port         string // no port for ""
	username, password string
	path               string // no path for ""
	query              url.Values
}

func (a address) value() Value {
	u := url.URL{Scheme: a.scheme, Host: joinHostPort(a.host, a.port), RawQuery: encode(a.query)}
	if a.username != "" || a.password != "" {
		u.User = url.UserPassword(a.username, a.password)
		if a.password == "" {
			u.User = url.User(a.username)
		}
	}
	if a.path != "" {
		u.Path, u.RawPath = "/"+a.path, "/"+strings.ReplaceAll(url.PathEscape(a.path), "+", "%2B") // some clients take + for a space
	} else if len(a.query) > 0 {
		u.Path = "/" // some clients want it before a question mark
	}
	return textValue(u.String())
}

func joinHostPort(host, port string) string {
	if port != "" {
		return net.JoinHostPort(host, port)
	}
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

// encode writes a space as %20, since not every client takes + for one.
func encode(query url.Values) string { return strings.ReplaceAll(query.Encode(), "+", "%20") }
