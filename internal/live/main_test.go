package live

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/localplane/planetest"
)

const patience = 30 * time.Second

var admin *rest.Config

func TestMain(m *testing.M) {
	planetest.Main(m, func(c *rest.Config) { admin = c })
}

// space is a namespace of one test, with a person in it who may do little.
type space struct {
	t      *testing.T
	name   string
	client *kubernetes.Clientset
}

func newSpace(t *testing.T) *space {
	t.Helper()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "live-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &space{t: t, name: made.Name, client: client}
}

// as returns a client for a person who may do what the rules say, in this namespace.
func (s *space) as(rules ...rbacv1.PolicyRule) *rest.Config {
	s.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"}, Rules: rules}
	made, err := s.client.RbacV1().Roles(s.name).Create(s.t.Context(), role, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = s.client.RbacV1().RoleBindings(s.name).Create(s.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: made.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: made.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: made.Name}},
	}, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	config := rest.CopyConfig(admin)
	config.Impersonate.UserName = made.Name
	return config
}

func (s *space) secret(name, value string) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"value": value}}
	_, err := s.client.CoreV1().Secrets(s.name).Create(s.t.Context(), secret, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *space) change(name, value string) {
	s.t.Helper()
	secret, err := s.client.CoreV1().Secrets(s.name).Get(s.t.Context(), name, metav1.GetOptions{})
	if err == nil {
		secret.StringData = map[string]string{"value": value}
		_, err = s.client.CoreV1().Secrets(s.name).Update(s.t.Context(), secret, metav1.UpdateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *space) remove(name string) {
	s.t.Helper()
	if err := s.client.CoreV1().Secrets(s.name).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func may(verbs []string, resource string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{""}, Resources: []string{resource}, ResourceNames: names}
}

// eventuallyGranted waits until the API server knows of new roles, which reach its authorizer a little later.
func eventuallyGranted(t *testing.T, try func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		pause(t.Context(), 20*time.Millisecond)
	}
}

// lines are connections that can be cut.
type lines struct {
	mu   sync.Mutex
	open []net.Conn
}

func (l *lines) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = append(l.open, conn)
	return conn, nil
}

func (l *lines) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open = nil
}
