package e2e_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/test/e2e/witness/testimony"
)

// volumeFolder is where the design's examples mount their Secret.
const volumeFolder = "/etc/secret-volume"

// TestDesignExamples runs the examples of the design of Secrets as they stand there, but for the images, which it only names.
func TestDesignExamples(t *testing.T) {
	ns := namespace(t, "example")
	apply(t, ns, manifest(t, "testdata/ssh-key-secret.json"))
	apply(t, ns, manifest(t, "testdata/database-secrets.json"))
	apply(t, ns, manifest(t, "testdata/ssh-key-pod.json", "mySshImage", witnessImage))
	apply(t, ns, manifest(t, "testdata/database-pods.json", "myClientImage", witnessImage))
	database := map[string]string{"username": "value-1\r\n", "password": "value-2\r\n\r\n"}
	for pod, want := range map[string]map[string]string{
		"secret-test-pod":    {"id-rsa": "value-2\r\n\r\n", "id-rsa.pub": "value-1\r\n"},
		"prod-db-client-pod": database,
		"test-db-client-pod": database,
	} {
		t.Run(pod, func(t *testing.T) {
			runs(t, ns, pod)
			found := testify(t, ns, pod, "", volumeFolder)
			if err := holds(found, volumeFolder, want); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff([]testimony.Root{{Path: volumeFolder, Filesystem: "tmpfs", ReadOnly: true}}, found.Roots); diff != "" {
				t.Errorf("the volume (-want +got):\n%s", diff)
			}
		})
	}
}

// requirement is one sentence of the design that Kubernetes fulfils, and what shows that it does. The page
// docs/reference/local-node.md lists them.
type requirement struct {
	text string
	test func(t *testing.T, ns string)
}

func requirements() []requirement {
	return []requirement{
		{"a kubelet receives only the secrets that pods of its node require, and may only read them", testKubeletRights},
		{"secret data is not at rest on the node", testNotAtRest},
		{"pods do not have access to each other's secrets", testPodsApart},
		{"a secret is at most 1 MiB", testSizeLimit},
		{"each key is a valid file name", testKeys},
		{"which pieces are exposed, and under which paths, can be said", testItems},
		{"files have the owner and mode that the pod's security context asks for", testSecurityContext},
		{"a pod waits for its secret, unless it is optional", testOptional},
		{"a pod is given its service account's token", testToken},
		{"a pod is given its service account's credentials for registries", testRegistries},
		{"a secret can be a variable, by itself or whole", testVariables},
	}
}

func TestDesignRequirements(t *testing.T) {
	ns := namespace(t, "e2e-design")
	for _, r := range requirements() {
		t.Run(r.text, func(t *testing.T) { r.test(t, ns) })
	}
}

// secret makes a Secret.
func secret(t *testing.T, ns, name string, data map[string]string) {
	t.Helper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	if _, err := clients.CoreV1().Secrets(ns).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pod makes a pod with a witness in it. The volumes and all else are as change makes them.
func pod(t *testing.T, ns, name string, change func(*corev1.PodSpec)) {
	t.Helper()
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "witness", Image: witnessImage,
				VolumeMounts: []corev1.VolumeMount{{Name: "secret", MountPath: volumeFolder, ReadOnly: true}},
			}},
		},
	}
	change(&object.Spec)
	if object.Spec.Volumes == nil {
		object.Spec.Containers[0].VolumeMounts = nil
	}
	if _, err := clients.CoreV1().Pods(ns).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// mounting gives a pod a volume with a Secret.
func mounting(source corev1.SecretVolumeSource) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Volumes = []corev1.Volume{{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &source}}}
	}
}

func testKubeletRights(t *testing.T, ns string) {
	secret(t, ns, "mine", map[string]string{"key": "value"})
	secret(t, ns, "not-mine", map[string]string{"key": "value"})
	pod(t, ns, "user-of-mine", mounting(corev1.SecretVolumeSource{SecretName: "mine"}))
	runs(t, ns, "user-of-mine")
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(plane.Dir(), "pki", "kubelet.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	kubelet, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	secrets := kubelet.CoreV1().Secrets(ns)
	mine, err := secrets.Get(t.Context(), "mine", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the kubelet may not read a Secret that a pod of its node uses: %v", err)
	}
	for what, attempt := range map[string]func() error{
		"read another Secret": func() error { _, err := secrets.Get(t.Context(), "not-mine", metav1.GetOptions{}); return err },
		"list Secrets":        func() error { _, err := secrets.List(t.Context(), metav1.ListOptions{}); return err },
		"change its Secret":   func() error { _, err := secrets.Update(t.Context(), mine, metav1.UpdateOptions{}); return err },
		"delete its Secret":   func() error { return secrets.Delete(t.Context(), "mine", metav1.DeleteOptions{}) },
		"read a Secret of another namespace": func() error {
			_, err := kubelet.CoreV1().Secrets("kube-system").Get(t.Context(), "mine", metav1.GetOptions{})
			return err
		},
	} {
		if err := attempt(); !apierrors.IsForbidden(err) {
			t.Errorf("the kubelet may %s, or it failed otherwise: %v", what, err)
		}
	}
}

// testNotAtRest looks for a value in every file that the node keeps on a disk. What is on a tmpfs is in memory alone.
func testNotAtRest(t *testing.T, ns string) {
	value := []byte("at-rest-" + rand.Text())
	secret(t, ns, "fleeting", map[string]string{"key": string(value)})
	pod(t, ns, "user-of-fleeting", mounting(corev1.SecretVolumeSource{SecretName: "fleeting"}))
	runs(t, ns, "user-of-fleeting")
	node := filepath.Join(plane.Dir(), "node")
	inMemory := 0
	err := filepath.WalkDir(node, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // gone meanwhile, or without content
		}
		content, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(content, value) {
			return nil //nolint:nilerr // as above
		}
		if onTmpfs(path) {
			inMemory++
		} else {
			t.Errorf("the value is on a disk, in %s", strings.TrimPrefix(path, node))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if inMemory == 0 {
		t.Error("the value is nowhere: this test does not look where it should")
	}
}

// onTmpfs reports whether a file is in memory.
func onTmpfs(path string) bool {
	const magic = 0x01021994
	var stat syscall.Statfs_t
	return syscall.Statfs(path, &stat) == nil && stat.Type == magic
}

func testPodsApart(t *testing.T, ns string) {
	for _, name := range []string{"left", "right"} {
		secret(t, ns, name, map[string]string{name: name})
		pod(t, ns, "user-of-"+name, mounting(corev1.SecretVolumeSource{SecretName: name}))
	}
	for _, name := range []string{"left", "right"} {
		runs(t, ns, "user-of-"+name)
		found := testify(t, ns, "user-of-"+name, "", "/etc", "/run", "/tmp", "/var")
		if err := holds(found, volumeFolder, map[string]string{name: name}); err != nil {
			t.Error(err)
		}
		other := map[string]string{"left": "right", "right": "left"}[name]
		for _, e := range found.Entries {
			if e.Content == testimony.Hash([]byte(other)) {
				t.Errorf("the pod that uses %s reads %s of %s", name, e.Path, other)
			}
		}
	}
}

func testSizeLimit(t *testing.T, ns string) {
	for _, c := range []struct {
		name   string
		size   int
		reason metav1.StatusReason
	}{{"largest", corev1.MaxSecretSize - len("key"), ""}, {"too-large", corev1.MaxSecretSize + 1, metav1.StatusReasonInvalid}} {
		object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Data: map[string][]byte{"key": make([]byte, c.size)}}
		_, err := clients.CoreV1().Secrets(ns).Create(t.Context(), object, metav1.CreateOptions{})
		if got := apierrors.ReasonForError(err); got != c.reason && (err != nil || c.reason != "") {
			t.Errorf("a Secret of %d bytes: %v, want the reason %q", c.size, err, c.reason)
		}
	}
}

func testKeys(t *testing.T, ns string) {
	for _, key := range []string{"../up", "a/b", "", "..", strings.Repeat("k", 254)} {
		object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bad-key"}, Data: map[string][]byte{key: nil}}
		if _, err := clients.CoreV1().Secrets(ns).Create(t.Context(), object, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("a Secret with the key %q: %v, want it refused", key, err)
		}
	}
}

func testItems(t *testing.T, ns string) {
	secret(t, ns, "pieces", map[string]string{"one": "1", "two": "2"})
	pod(t, ns, "user-of-pieces", mounting(corev1.SecretVolumeSource{
		SecretName: "pieces", Items: []corev1.KeyToPath{{Key: "two", Path: "deep/second"}},
	}))
	runs(t, ns, "user-of-pieces")
	found := testify(t, ns, "user-of-pieces", "", volumeFolder)
	if content, err := found.Content(volumeFolder + "/deep/second"); err != nil || content != testimony.Hash([]byte("2")) {
		t.Errorf("deep/second: %v", err)
	}
	if _, err := found.Content(volumeFolder + "/one"); err == nil {
		t.Error("the other piece is there too")
	}
}

func testSecurityContext(t *testing.T, ns string) {
	const user, group, mode = 1000, 2000, 0o400
	secret(t, ns, "owned", map[string]string{"key": "value"})
	pod(t, ns, "user-of-owned", func(spec *corev1.PodSpec) {
		mounting(corev1.SecretVolumeSource{SecretName: "owned", DefaultMode: new(int32(mode))})(spec)
		spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: new(int64(user)), FSGroup: new(int64(group))}
	})
	runs(t, ns, "user-of-owned")
	found := testify(t, ns, "user-of-owned", "", volumeFolder)
	files := 0
	for _, e := range found.Entries {
		if e.Type != "file" {
			continue
		}
		files++
		// A process that is not the owner reads it through the group, for which the kubelet adds the permission.
		if e.GID != group || e.Mode != "-r--r-----" || e.Problem != "" {
			t.Errorf("the file is %s of group %d: %s", e.Mode, e.GID, e.Problem)
		}
	}
	if files != 1 || found.UID != user {
		t.Errorf("user %d found %d files", found.UID, files)
	}
}

func testOptional(t *testing.T, ns string) {
	pod(t, ns, "user-of-optional", mounting(corev1.SecretVolumeSource{SecretName: "never-there", Optional: new(true)}))
	pod(t, ns, "user-of-late", mounting(corev1.SecretVolumeSource{SecretName: "late"}))
	runs(t, ns, "user-of-optional")
	if err := holds(testify(t, ns, "user-of-optional", "", volumeFolder), volumeFolder, nil); err != nil {
		t.Error(err)
	}
	eventually(t, "an event says what the pod waits for", func() error {
		events, err := clients.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=user-of-late"})
		if err != nil {
			return err
		}
		for i := range events.Items {
			if strings.Contains(events.Items[i].Message, `secret "late" not found`) {
				return nil
			}
		}
		return fmt.Errorf("none of %d does", len(events.Items))
	})
	secret(t, ns, "late", map[string]string{"key": "value"})
	runs(t, ns, "user-of-late")
}

func testToken(t *testing.T, ns string) {
	const folder = "/var/run/secrets/kubernetes.io/serviceaccount"
	pod(t, ns, "user-of-token", func(*corev1.PodSpec) {})
	runs(t, ns, "user-of-token")
	found := testify(t, ns, "user-of-token", "", folder)
	if diff := cmp.Diff([]testimony.Root{{Path: folder, Filesystem: "tmpfs", ReadOnly: true}}, found.Roots); diff != "" {
		t.Errorf("the volume (-want +got):\n%s", diff)
	}
	for _, name := range []string{"token", "ca.crt", "namespace"} {
		if content, err := found.Content(filepath.Join(folder, name)); err != nil || content == "" {
			t.Errorf("file %s: %v", name, err)
		}
	}
}

// testRegistries sees that a pod names the credentials of its service account. Nothing is pulled: there is no registry here.
func testRegistries(t *testing.T, ns string) {
	login := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "login"}, Type: corev1.SecretTypeDockerConfigJson,
		Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)},
	}
	if _, err := clients.CoreV1().Secrets(ns).Create(t.Context(), login, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []corev1.LocalObjectReference{{Name: "login"}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "puller"}, ImagePullSecrets: want}
	if _, err := clients.CoreV1().ServiceAccounts(ns).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod(t, ns, "user-of-puller", func(spec *corev1.PodSpec) { spec.ServiceAccountName = "puller" })
	if diff := cmp.Diff(want, runs(t, ns, "user-of-puller").Spec.ImagePullSecrets); diff != "" {
		t.Errorf("the pod's credentials (-want +got):\n%s", diff)
	}
}

func testVariables(t *testing.T, ns string) {
	secret(t, ns, "varied", map[string]string{"one": "1", "two": base64.StdEncoding.EncodeToString([]byte("2"))})
	from := corev1.LocalObjectReference{Name: "varied"}
	pod(t, ns, "user-of-varied", func(spec *corev1.PodSpec) {
		spec.Containers[0].Env = []corev1.EnvVar{
			{Name: "FIRST", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: from, Key: "one"}}},
			{Name: "COMPOSED", Value: "<$(FIRST)>"},
		}
		spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{Prefix: "ALL_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: from}}}
	})
	runs(t, ns, "user-of-varied")
	got := testify(t, ns, "user-of-varied", "").Env
	for name, want := range map[string]string{"FIRST": "1", "COMPOSED": "<1>", "ALL_one": "1", "ALL_two": "Mg=="} {
		if got[name] != want {
			t.Errorf("variable %s is %q, want %q", name, got[name], want)
		}
	}
}

// TestRequirementsAreListed keeps the page and the tests in step.
func TestRequirementsAreListed(t *testing.T) {
	page := manifest(t, "../../docs/reference/local-node.md")
	for _, r := range requirements() {
		if !strings.Contains(page, "\n| "+r.text+" | ") {
			t.Errorf("the page has no row for: %s", r.text)
		}
	}
}
