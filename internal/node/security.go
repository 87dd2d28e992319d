package node

import (
	corev1 "k8s.io/api/core/v1"
)

// security puts the security contexts of pod and container together: what the container says counts.
func (r resolver) security() (Security, error) {
	var s Security
	if pod := r.pod.template.Spec.SecurityContext; pod != nil {
		s.User, s.Group, s.FSGroup = pod.RunAsUser, pod.RunAsGroup, pod.FSGroup
		s.RunAsNonRoot = isTrue(pod.RunAsNonRoot)
		if pod.FSGroup != nil {
			s.Groups = append(s.Groups, *pod.FSGroup)
		}
		s.Groups = append(s.Groups, pod.SupplementalGroups...)
	}
	if own := r.container.SecurityContext; own != nil {
		s.merge(own)
	}
	if s.RunAsNonRoot && s.User != nil && *s.User == 0 {
		return Security{}, &InvalidError{Where: ".securityContext.runAsNonRoot", What: "runAsUser is 0",
			Rule: "set another user, or leave runAsNonRoot out"}
	}
	return s, nil
}

// merge lets the container's own settings count.
func (s *Security) merge(own *corev1.SecurityContext) {
	if own.RunAsUser != nil {
		s.User = own.RunAsUser
	}
	if own.RunAsGroup != nil {
		s.Group = own.RunAsGroup
	}
	if own.RunAsNonRoot != nil {
		s.RunAsNonRoot = *own.RunAsNonRoot
	}
	s.Privileged = isTrue(own.Privileged)
	s.ReadOnlyRoot = isTrue(own.ReadOnlyRootFilesystem)
	s.NoNewPrivileges = own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation
	if own.Capabilities != nil {
		s.Add, s.Drop = texts(own.Capabilities.Add), texts(own.Capabilities.Drop)
	}
}

func texts(capabilities []corev1.Capability) []string {
	var list []string
	for _, c := range capabilities {
		list = append(list, string(c))
	}
	return list
}

// fsGroup is whom the pod's volumes belong to.
func (r resolver) fsGroup() *int64 {
	if r.pod.template.Spec.SecurityContext == nil {
		return nil
	}
	return r.pod.template.Spec.SecurityContext.FSGroup
}

// onlyUser is whom all containers of the pod run as; nil where they differ or one does not say.
func (r resolver) onlyUser() *int64 {
	spec := &r.pod.template.Spec
	var user *int64
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			own := userOf(spec, &list[i])
			if own == nil || (user != nil && *user != *own) {
				return nil
			}
			user = own
		}
	}
	return user
}

func userOf(spec *corev1.PodSpec, c *corev1.Container) *int64 {
	if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
		return c.SecurityContext.RunAsUser
	}
	if spec.SecurityContext != nil {
		return spec.SecurityContext.RunAsUser
	}
	return nil
}
