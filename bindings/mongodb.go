package bindings

import "net/url"

// MongoDBURI returns the connection string of MongoDB: the entry uri (or url), or one made of host, port, username (or user),
// password, database, authentication-database, srv and ssl. Where srv is true, host is looked up as a service record and port does
// not count. Where the binding brings certificates to trust and does not say otherwise, the connection is encrypted and the
// string names their file; a client that proves itself by a certificate takes [Binding.TLSConfig].
func (b *Binding) MongoDBURI() (Value, error) {
	t := b.as("mongodb")
	if _, text := t.whole("mongodb", "mongodb+srv"); text != "" {
		return textValue(text), t.err
	}
	a := address{scheme: "mongodb", query: url.Values{}}
	s := t.server("27017")
	a.host, a.port, a.username, a.password, a.path = s.host, s.port, s.username, s.password, s.database
	if t.boolean("srv") {
		a.scheme, a.port = "mongodb+srv", ""
	}
	if source := t.text("authentication-database"); source != "" {
		a.query.Set("authSource", source)
	}
	if t.secured() {
		a.query.Set("tls", "true")
		if entry := t.trustedEntry(); entry != "" {
			a.query.Set("tlsCAFile", t.dir+"/"+entry)
		}
	}
	if t.err != nil {
		return Value{}, t.err
	}
	return a.value(), nil
}
