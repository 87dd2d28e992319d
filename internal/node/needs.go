package node

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// defaultExpiration is how long a token holds where the pod does not say, in seconds.
const defaultExpiration = 3600

// Need is one object that a container refers to.
type Need struct {
	// Name of the object.
	Name string
	// Optional says that the container starts without it, too: each reference is optional.
	Optional bool
}

// TokenRequest is what a projected token is asked for with.
type TokenRequest struct {
	// ServiceAccount is its name.
	ServiceAccount string
	// Audience is whom the token is for; empty for the API server.
	Audience string
	// ExpirationSeconds is how long it is to hold.
	ExpirationSeconds int64
}

// Needs is all that a container refers to, each once and in order.
type Needs struct {
	// Secrets in the workload's namespace.
	Secrets []Need
	// ConfigMaps in the workload's namespace, that with the cluster's certificates among them.
	ConfigMaps []Need
	// Tokens of the workload's service account.
	Tokens []TokenRequest
}

// Needs says what a container refers to in its variables and in the volumes that it mounts.
func (p *Pod) Needs(container string) (Needs, error) {
	c, err := p.container(container)
	if err != nil {
		return Needs{}, err
	}
	w := wanted{secrets: references{}, configMaps: references{}, tokens: map[TokenRequest]bool{}}
	for i := range c.EnvFrom {
		w.envFrom(&c.EnvFrom[i])
	}
	for i := range c.Env {
		w.valueFrom(c.Env[i])
	}
	for i := range c.VolumeMounts {
		if v, ok := p.volume(c.VolumeMounts[i].Name); ok {
			w.volume(v, p.serviceAccount())
		}
	}
	return w.needs(), nil
}

// references are names, and whether each is optional wherever it is referred to.
type references map[string]bool

func (r references) add(name string, optional *bool) {
	if name == "" {
		return
	}
	before, known := r[name]
	r[name] = isTrue(optional) && (before || !known)
}

func (r references) sorted() []Need {
	var list []Need
	for name, optional := range r {
		list = append(list, Need{Name: name, Optional: optional})
	}
	slices.SortFunc(list, func(a, b Need) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// wanted collects what is referred to.
type wanted struct {
	secrets, configMaps references
	tokens              map[TokenRequest]bool
}

func (w wanted) envFrom(from *corev1.EnvFromSource) {
	if from.SecretRef != nil {
		w.secrets.add(from.SecretRef.Name, from.SecretRef.Optional)
	}
	if from.ConfigMapRef != nil {
		w.configMaps.add(from.ConfigMapRef.Name, from.ConfigMapRef.Optional)
	}
}

func (w wanted) valueFrom(e corev1.EnvVar) {
	if e.Value != "" || e.ValueFrom == nil {
		return
	}
	if ref := e.ValueFrom.SecretKeyRef; ref != nil {
		w.secrets.add(ref.Name, ref.Optional)
	}
	if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
		w.configMaps.add(ref.Name, ref.Optional)
	}
}

func (w wanted) volume(v *corev1.Volume, serviceAccount string) {
	switch {
	case v.Secret != nil:
		w.secrets.add(v.Secret.SecretName, v.Secret.Optional)
	case v.ConfigMap != nil:
		w.configMaps.add(v.ConfigMap.Name, v.ConfigMap.Optional)
	case v.Projected != nil:
		for i := range v.Projected.Sources {
			w.source(&v.Projected.Sources[i], serviceAccount)
		}
	}
}

func (w wanted) source(s *corev1.VolumeProjection, serviceAccount string) {
	switch {
	case s.Secret != nil:
		w.secrets.add(s.Secret.Name, s.Secret.Optional)
	case s.ConfigMap != nil:
		w.configMaps.add(s.ConfigMap.Name, s.ConfigMap.Optional)
	case s.ServiceAccountToken != nil:
		w.tokens[tokenRequest(s.ServiceAccountToken, serviceAccount)] = true
	}
}

func (w wanted) needs() Needs {
	needs := Needs{Secrets: w.secrets.sorted(), ConfigMaps: w.configMaps.sorted()}
	for request := range w.tokens {
		needs.Tokens = append(needs.Tokens, request)
	}
	slices.SortFunc(needs.Tokens, func(a, b TokenRequest) int {
		return cmp.Or(cmp.Compare(a.ServiceAccount, b.ServiceAccount), cmp.Compare(a.Audience, b.Audience),
			cmp.Compare(a.ExpirationSeconds, b.ExpirationSeconds))
	})
	return needs
}

func tokenRequest(source *corev1.ServiceAccountTokenProjection, serviceAccount string) TokenRequest {
	request := TokenRequest{ServiceAccount: serviceAccount, Audience: source.Audience, ExpirationSeconds: defaultExpiration}
	if source.ExpirationSeconds != nil {
		request.ExpirationSeconds = *source.ExpirationSeconds
	}
	return request
}

func isTrue(b *bool) bool { return b != nil && *b }
