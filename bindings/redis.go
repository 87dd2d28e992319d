package bindings

// RedisURL returns the URL of a Redis server: the entry uri (or url), or one made of host, port, username (or user), password,
// database and ssl. Where the binding brings certificates to trust and does not say otherwise, the connection is encrypted;
// clients take the certificates from [Binding.TLSConfig]. A URL cannot name the nodes of a cluster or sentinels.
func (b *Binding) RedisURL() (Value, error) {
	t := b.as("redis")
	if _, text := t.whole("redis", "rediss"); text != "" {
		return textValue(text), t.err
	}
	s, scheme := t.server("6379"), "redis"
	if t.secured() {
		scheme = "rediss"
	}
	if t.err != nil {
		return Value{}, t.err
	}
	return address{
		scheme: scheme, host: s.host, port: s.port, username: s.username, password: s.password, path: s.database,
	}.value(), nil
}
