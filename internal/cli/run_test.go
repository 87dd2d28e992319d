package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/bowline-dev/bowline/internal/cli"
	"github.com/bowline-dev/bowline/internal/install"
	"github.com/bowline-dev/bowline/internal/localplane"
	"github.com/bowline-dev/bowline/internal/localplane/planetest"
	"github.com/bowline-dev/bowline/internal/node/sandbox"
)

// hidden is a value that no output may hold, however a script's Secrets spell it.
const hidden = "canary-swordfish"

func TestMain(m *testing.M) {
	if code, handled := sandbox.Stage(os.Args); handled {
		os.Exit(code)
	}
	testscript.Main(m, map[string]func(){
		"bowline": func() {
			os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// commands are what the scripts know beside their own.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"ends": ends, "refused": refused}
}

// ends runs a command and wants it to end with a code.
func ends(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.String()
		code = strings.TrimPrefix(code, "exit status ")
	} else if err != nil {
		ts.Fatalf("running %v: %v", args[1:], err)
	}
	if code != args[0] {
		ts.Fatalf("%v ended with %s, want %s", args[1:], code, args[0])
	}
}

// refused runs a command and wants it to end with 2, one line that says what is wrong and one that says what to do.
func refused(ts *testscript.TestScript, _ bool, args []string) {
	ends(ts, false, append([]string{"2"}, args...))
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("it printed %q", out)
	}
	said := ts.ReadFile("stderr")
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "bowline: ") || !strings.HasPrefix(lines[1], "hint: ") {
		ts.Fatalf("it said %q, want one line and a hint", said)
	}
	if strings.Contains(said, hidden) {
		ts.Fatalf("it said a value: %s", said)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/run", Cmds: scriptCommands(), RequireUniqueNames: true,
		Condition: func(name string) (bool, error) { return name == "root" && os.Geteuid() == 0, nil },
	})
}

func TestConvert(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/convert", Cmds: scriptCommands(), RequireUniqueNames: true})
}

// TestRunInACluster runs each script in a namespace of its own.
func TestRunInACluster(t *testing.T) {
	plane := planetest.Start(t)
	config, err := plane.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := install.Apply(t.Context(), config, install.Options{External: true}, nil); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("scripts", func(t *testing.T) {
		testscript.Run(t, testscript.Params{
			Dir: "testdata/cluster", Cmds: scriptCommands(), RequireUniqueNames: true,
			Setup: func(env *testscript.Env) error { return setUp(env, plane, client) },
		})
	})
}

// setUp makes the namespace of a script, and a kubeconfig whose context names it.
func setUp(env *testscript.Env, plane *localplane.Plane, client kubernetes.Interface) error {
	made, err := client.CoreV1().Namespaces().Create(env.T().(testing.TB).Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	kubeconfig, err := clientcmd.LoadFromFile(plane.Kubeconfig())
	if err != nil {
		return err
	}
	for _, c := range kubeconfig.Contexts {
		c.Namespace = made.Name
	}
	path := filepath.Join(env.WorkDir, "kubeconfig")
	env.Setenv("KUBECONFIG", path)
	env.Setenv("NS", made.Name)
	env.Setenv("PATH", env.Getenv("PATH")+string(os.PathListSeparator)+filepath.Join(plane.Dir(), "bin"))
	return clientcmd.WriteToFile(*kubeconfig, path)
}
