package live

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/internal/node"
)

func open(t *testing.T, config *rest.Config, s *space, needs node.Needs) *Feed {
	t.Helper()
	client, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	var feed *Feed
	eventuallyGranted(t, func() error {
		feed, err = client.Open(t.Context(), s.name, needs)
		return err
	})
	return feed
}

// follow follows a feed until the test ends.
func follow(t *testing.T, f *Feed) <-chan Event {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	events, done := make(chan Event, 100), make(chan struct{})
	go func() {
		defer close(done)
		f.Follow(ctx, func(e Event) { events <- e })
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return events
}

func await(t *testing.T, events <-chan Event, kind EventKind) Event {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case e := <-events:
			if e.Kind == kind {
				return e
			}
		case <-timer.C:
			t.Fatalf("no event of kind %d came", kind)
		}
	}
}

// holds waits until a Secret has a value.
func holds(t *testing.T, f *Feed, events <-chan Event, name, want string) {
	t.Helper()
	for string(f.Objects().Secrets[name]["value"].Reveal()) != want {
		await(t, events, Changed)
	}
}

func needsOf(names ...string) node.Needs {
	var needs node.Needs
	for _, name := range names {
		needs.Secrets = append(needs.Secrets, node.Need{Name: name})
	}
	return needs
}

// TestLeastPrivilege opens and follows with nothing but get and watch on the names: neither list, nor any other object.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.secret("db", "one")
	config := s.as(may([]string{"get", "watch"}, "secrets", "db", "late"), may([]string{"get", "watch"}, "configmaps", "settings"))
	_, err := s.client.CoreV1().ConfigMaps(s.name).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"c": {0}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	needs := needsOf("db", "late")
	needs.ConfigMaps = []node.Need{{Name: "settings"}}
	f := open(t, config, s, needs)
	got := f.Objects()
	if _, there := got.Secrets["late"]; there || len(got.ConfigMaps["settings"]) != 1 || len(got.BinaryData["settings"]) != 1 {
		t.Errorf("it holds %v", got)
	}
	events := follow(t, f)
	holds(t, f, events, "db", "one")
	s.change("db", "two")
	holds(t, f, events, "db", "two")
	s.secret("late", "came")
	holds(t, f, events, "late", "came")
}

func TestWhatIsGoneStays(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.secret("db", "one")
	f := open(t, admin, s, needsOf("db"))
	events := follow(t, f)
	s.remove("db")
	if e := await(t, events, Gone); e.What != `Secret "db"` {
		t.Errorf("%s is gone", e.What)
	}
	holds(t, f, events, "db", "one")
	s.secret("db", "again")
	holds(t, f, events, "db", "again")
}

func TestFollowOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.secret("db", "one")
	s.secret("other", "one")
	var l lines
	config := rest.CopyConfig(admin)
	config.Dial = l.dial
	f := open(t, config, s, needsOf("db", "other"))
	events := follow(t, f)
	for _, value := range []string{"two", "three", "four"} {
		l.cut()
		s.change("db", value)
		holds(t, f, events, "db", value)
	}
	l.cut()
	s.remove("other")
	if e := await(t, events, Gone); e.What != `Secret "other"` {
		t.Errorf("%s is gone", e.What)
	}
}

func TestWithoutWatchItLooks(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.secret("db", "one")
	f := open(t, s.as(may([]string{"get"}, "secrets", "db")), s, needsOf("db"))
	f.poll = 10 * time.Millisecond
	events := follow(t, f)
	e := await(t, events, Troubled)
	if want := `you may not watch secrets "db" in namespace "` + s.name + `"`; e.Err.Error() != want {
		t.Errorf("it says %q, want %q", e.Err, want)
	}
	s.change("db", "two")
	holds(t, f, events, "db", "two")
	for len(events) > 0 {
		if e := <-events; e.Kind == Troubled {
			t.Errorf("it says a second time: %v", e.Err)
		}
	}
}

func TestOpenSaysWhatIsForbidden(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	s.secret("db", "one")
	client, err := New(s.as())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		needs   node.Needs
		want    string
		command string
	}{
		{needsOf("db"), `you may not get secrets "db"`, "kubectl create role bowline-run --verb=get,watch --resource=secrets --resource-name=db"},
		{node.Needs{ConfigMaps: []node.Need{{Name: "c"}}}, `you may not get configmaps "c"`,
			"kubectl create role bowline-run --verb=get,watch --resource=configmaps --resource-name=c"},
		{node.Needs{Tokens: []node.TokenRequest{{ServiceAccount: "app", ExpirationSeconds: 3600}}},
			`you may not create serviceaccounts/token "app"`,
			"kubectl create role bowline-run --verb=create --resource=serviceaccounts/token --resource-name=app"},
	}
	for _, test := range tests {
		_, err := client.Open(t.Context(), s.name, test.needs)
		forbidden, ok := errors.AsType[*PermissionError](err)
		if !ok || err.Error() != test.want+` in namespace "`+s.name+`"` {
			t.Errorf("error %v, want %s", err, test.want)
			continue
		}
		if diff := cmp.Diff(test.command+" -n "+s.name, forbidden.Command()); diff != "" {
			t.Errorf("command (-want +got):\n%s", diff)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	s := newSpace(t)
	request := node.TokenRequest{ServiceAccount: "app", Audience: "vault", ExpirationSeconds: 600}
	needs := node.Needs{Tokens: []node.TokenRequest{request}}
	client, err := New(admin)
	if err != nil {
		t.Fatal(err)
	}
	var missing *MissingError
	if _, err := client.Open(t.Context(), s.name, needs); !errors.As(err, &missing) || missing.Name != "app" {
		t.Errorf("without the service account the error is %v", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
	if _, err := s.client.CoreV1().ServiceAccounts(s.name).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f := open(t, admin, s, needs)
	first := f.Objects().Tokens[request]
	review, err := s.client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: string(first.Reveal()), Audiences: []string{"vault"}},
	}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated || !strings.HasSuffix(review.Status.User.Username, ":app") {
		t.Errorf("the API server says of the token: %v, %v", err, review.Status.Error)
	}
	f.tokens[0].renew = time.Millisecond
	await(t, follow(t, f), Changed)
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	for lifetime, want := range map[time.Duration]time.Duration{
		time.Hour: 48 * time.Minute, 10 * time.Minute: 8 * time.Minute, 100 * time.Hour: 24 * time.Hour, -time.Hour: 0,
	} {
		if got := renewal(at, at.Add(lifetime)); got != want {
			t.Errorf("a token of %s is renewed after %s, want %s", lifetime, got, want)
		}
	}
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Reference{
		"deployment/orders": {"deployment", "orders"}, "CronJob.batch/x": {"cronjob.batch", "x"},
		"orders": {}, "/orders": {}, "deployment/": {}, "a/b/c": {}, "": {},
	} {
		got, err := ParseReference(text)
		if got != want || (err == nil) != (want != Reference{}) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestFindKinds(t *testing.T) {
	t.Parallel()
	client, err := New(admin)
	if err != nil {
		t.Fatal(err)
	}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	jobs := schema.GroupVersion{Group: "batch", Version: "v1"}
	deployments, cronJobs := apps.WithResource("deployments"), jobs.WithResource("cronjobs")
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	for text, want := range map[string]schema.GroupVersionResource{
		"deployment": deployments, "deploy": deployments, "deployments": deployments, "deployments.apps": deployments,
		"deployment.v1.apps": deployments, "cronjob.batch": cronJobs, "cj": cronJobs, "po": {Version: "v1", Resource: "pods"},
		"crd.apiextensions.k8s.io": crds, "customresourcedefinition.v1.apiextensions.k8s.io": crds,
	} {
		got, err := client.find(t.Context(), text)
		if err != nil || got.GroupVersionResource != want {
			t.Errorf("%s is %v, %v; want %v", text, got.GroupVersionResource, err, want)
		}
	}
	for _, text := range []string{"ox", "ox.example.com", "ox.apps", "deployment.batch", "crd.v9.apiextensions.k8s.io"} {
		var unknown *KindError
		if got, err := client.find(t.Context(), text); !errors.As(err, &unknown) {
			t.Errorf("%s is %v, %v; want a KindError", text, got, err)
		}
	}
}
