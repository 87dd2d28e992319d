package node

import "fmt"

// RootVariable names the variable that says where the bindings are.
const RootVariable = "SERVICE_BINDING_ROOT"

// Entries are the data of a Secret or ConfigMap, by key.
type Entries map[string]Value

// Objects are what a container refers to, by name. What is not in a map does not exist.
type Objects struct {
	// Secrets in the workload's namespace.
	Secrets map[string]Entries
	// ConfigMaps in the workload's namespace: their data, which is text.
	ConfigMaps map[string]Entries
	// BinaryData of ConfigMaps. Like the kubelet this package makes files of it and no variables.
	BinaryData map[string]Entries
	// Tokens of service accounts.
	Tokens map[TokenRequest]Value
}

// Machine is what the downward API tells of the place where the process runs.
type Machine struct {
	// Hostname is the node's name where NodeName is empty.
	Hostname string
	// NodeName is told where the pod is not on a node already.
	NodeName string
	// HostIP is the address of the machine.
	HostIP string
	// PodIP is the address that the process is reached at.
	PodIP string
	// MilliCPU is the limit of a container without one, in thousandths of a CPU.
	MilliCPU int64
	// MemoryBytes is the limit of a container without one.
	MemoryBytes int64
	// EphemeralBytes is the limit of a container without one.
	EphemeralBytes int64
}

// Request is all that a plan is made from.
type Request struct {
	// Pod is the workload's.
	Pod *Pod
	// Container is the name of one of its containers or init containers, as Pick returns it.
	Container string
	// Objects are those that Needs asks for.
	Objects Objects
	// Machine is where the process will run.
	Machine Machine
}

// Plan is what one container gets.
type Plan struct {
	// Volumes are those that the container mounts, in the pod's order.
	Volumes []Volume
	// Mounts are in the container's order.
	Mounts []Mount
	// Env names each variable once: those of envFrom first, then those of env, of several of one name the last.
	Env []Variable
	// Command replaces the image's entry point; empty where the image's is wanted.
	Command []Word
	// Args replace the image's arguments; empty where the image's are wanted.
	Args []Word
	// WorkingDir is where the container starts; empty where the image decides.
	WorkingDir string
	// Security is the security context of pod and container together.
	Security Security
	// Image is what the container would run.
	Image string
}

// Volume is one directory with files in it.
type Volume struct {
	// Name is unique in the pod.
	Name string
	// Files are sorted by path.
	Files []File
	// Sticky says that the volume's folder has the sticky bit: those have it that the kubelet keeps in memory.
	Sticky bool
	// Scratch says that the volume is empty and the container's to write to.
	Scratch bool
	// SizeLimit of a scratch volume in bytes; 0 is none.
	SizeLimit int64
}

// File is one file of a volume.
type File struct {
	// Path is relative to the volume, with slashes.
	Path string
	// Value is the content.
	Value Value
	// Mode holds the nine permission bits, those that an fsGroup adds among them.
	Mode int32
	// User owns the file where it is set: the kubelet gives tokens to the user that the pod runs as.
	User *int64
}

// Mount is one place where the container sees a volume.
type Mount struct {
	// Volume is its name.
	Volume string
	// Path is absolute, as the container sees it.
	Path string
	// SubPath is the part of the volume that is mounted; empty for all of it. Variables in it are replaced.
	SubPath string
	// ReadOnly says that the container cannot write there. It never can where a volume has files.
	ReadOnly bool
}

// Variable is one environment variable.
type Variable struct {
	// Name of the variable.
	Name string
	// Value of the variable.
	Value Value
}

// Word is one word of a command line.
type Word struct {
	// Text is as the pod has it, so it can be shown.
	Text string
	// Value has the variables replaced, and may hold a secret for that.
	Value Value
}

// Words reveals a command line, to run it. The result may hold secret values and MUST NOT be shown.
func Words(words []Word) []string {
	list := make([]string, 0, len(words))
	for _, w := range words {
		list = append(list, string(w.Value.Reveal()))
	}
	return list
}

// Security is what a process may do, and as whom. Files that a volume has for a group belong to FSGroup.
type Security struct {
	// User to run as; nil where the image or the caller decides.
	User *int64
	// Group to run as; nil where the image or the caller decides.
	Group *int64
	// FSGroup owns the volumes; it is among Groups.
	FSGroup *int64
	// Groups are further groups of the process.
	Groups []int64
	// ReadOnlyRoot says that only volumes can be written to.
	ReadOnlyRoot bool
	// NoNewPrivileges says that no program gains any, whatever its file says.
	NoNewPrivileges bool
	// RunAsNonRoot says that the process MUST NOT start as user 0.
	RunAsNonRoot bool
	// Privileged asks for all that the machine can give.
	Privileged bool
	// Drop and Add are names of capabilities without CAP_, or ALL.
	Drop, Add []string
}

// NewPlan decides what a container gets. The error names the field that stands in the way; then nothing was written, since
// nothing here writes.
func NewPlan(request Request) (*Plan, error) {
	c, err := request.Pod.container(request.Container)
	if err != nil {
		return nil, err
	}
	r := resolver{pod: request.Pod, container: c, objects: request.Objects, machine: request.Machine}
	plan := &Plan{WorkingDir: c.WorkingDir, Image: c.Image}
	env, err := r.env()
	if err != nil {
		return nil, fmt.Errorf("planning the environment of container %q: %w", c.Name, err)
	}
	plan.Env = env.list()
	plan.Command, plan.Args = env.words(c.Command), env.words(c.Args)
	if plan.Volumes, err = r.volumes(); err != nil {
		return nil, fmt.Errorf("planning the volumes of container %q: %w", c.Name, err)
	}
	if plan.Mounts, err = r.mounts(env); err != nil {
		return nil, fmt.Errorf("planning the mounts of container %q: %w", c.Name, err)
	}
	if plan.Security, err = r.security(); err != nil {
		return nil, fmt.Errorf("planning the security context of container %q: %w", c.Name, err)
	}
	return plan, nil
}

// Volume finds a volume by its name; nil where the plan has none. Each mount has one.
func (p *Plan) Volume(name string) *Volume {
	for i := range p.Volumes {
		if p.Volumes[i].Name == name {
			return &p.Volumes[i]
		}
	}
	return nil
}

// Size is how many bytes all files hold. While a volume is replaced there are two of each of its files.
func (p *Plan) Size() int64 {
	var size int64
	for i := range p.Volumes {
		for j := range p.Volumes[i].Files {
			size += int64(len(p.Volumes[i].Files[j].Value.Reveal()))
		}
	}
	return size
}
