package generate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/generate"
)

// examples are those of the draft, in both syntaxes: the slip as it is printed, and as it is meant.
var examples = map[string]struct {
	key, value         string // the annotation as it is meant
	printed            [2]string
	annotationAdvice   string // what is said about the annotation as it is printed
	descriptor         string // as it is meant
	descriptorPrinted  string
	descriptorComplain string
	want               map[string]string
}{
	"1 an entire Secret": {
		key: "service.binding", value: "path={.status.data.dbCredentials},objectType=Secret",
		printed:          [2]string{"“service.binding", "”path={.status.data.dbCredentials},objectType=Secret”"},
		annotationAdvice: "straight quotes",
		descriptor:       `[{path: data.dbCredentials, x-descriptors: ["urn:alm:descriptor:io.kubernetes:Secret", service.binding]}]`,
		want:             map[string]string{"username": "hannah", "password": "s3cr3t"},
	},
	"2 an entire ConfigMap": {
		key: "service.binding", value: "path={.status.data.dbConfiguration},objectType=ConfigMap",
		printed:          [2]string{"service.binding”", "path={.status.data.dbConfiguration},objectType=ConfigMap”"},
		annotationAdvice: "straight quotes",
		descriptor:       `[{path: data.dbConfiguration, x-descriptors: ["urn:alm:descriptor:io.kubernetes:ConfigMap", service.binding]}]`,
		want:             map[string]string{"certificate": "-----BEGIN-----", "db_timeout": "10s"},
	},
	"3 an entry of a ConfigMap": {
		key: "service.binding/certificate", value: "path={.status.data.dbConfiguration},objectType=ConfigMap,sourceKey=certificate",
		printed:          [2]string{"“service.binding/certificate”", "path={.status.data.dbConfiguration},objectType=ConfigMap,sourceKey=certificate"},
		annotationAdvice: "straight quotes",
		descriptor: `[{path: data.dbConfiguration, x-descriptors:
			["urn:alm:descriptor:io.kubernetes:ConfigMap", "service.binding:certificate:sourceKey=certificate"]}]`,
		want: map[string]string{"certificate": "-----BEGIN-----"},
	},
	"4 an entry of a ConfigMap by another name": {
		key: "service.binding/timeout", value: "path={.status.data.dbConfiguration},objectType=ConfigMap,sourceKey=db_timeout",
		printed:          [2]string{"service.binding/timeout", "“path={.status.data.dbConfiguration},objectType=ConfigMap,sourceKey=db_timeout"},
		annotationAdvice: "typographic quote",
		descriptor: `[{path: data.dbConfiguration, x-descriptors:
			["urn:alm:descriptor:io.kubernetes:ConfigMap", "service.binding:timeout:sourceKey=db_timeout"]}]`,
		descriptorPrinted: `[{path: data.dbConfiguration, x-descriptors:
			["urn:alm:descriptor:io.kubernetes:ConfigMap", "servicebinding:timeout:sourceKey=db_timeout"]}]`,
		descriptorComplain: `there is no descriptor "servicebinding:"; write service.binding or service.binding:<name>`,
		want:               map[string]string{"timeout": "10s"},
	},
	"5 a value of the resource": {
		key: "service.binding/uri", value: "path={.status.data.uri}",
		printed:          [2]string{"“service.binding/uri”", "path={.status.data.url}"},
		annotationAdvice: "straight quotes",
		descriptor:       `[{path: data.uri, x-descriptors: ["service.binding:uri"]}]`,
		want:             map[string]string{"uri": "postgresql://db.stage.ibm.com"},
	},
	"6 a value of the resource by another name": {
		key: "service.binding/uri", value: "path={.status.data.connectionURL}",
		printed:          [2]string{"service.binding/uri", "path={.status.data.connectionURL}”"},
		annotationAdvice: "typographic quote ”",
		descriptor:       `[{path: data.connectionURL, x-descriptors: ["service.binding:uri"]}]`,
		want:             map[string]string{"uri": "postgresql://db.stage.ibm.com/orders"},
	},
	"7 the entries of a collection": {
		key: "service.binding/endpoints", value: "path={.status.bootstrap},elementType=sliceOfMaps,sourceKey=type,sourceValue=url",
		printed: [2]string{
			"“service.binding/endpoints”", "path={.status.bootstrap},elementType=sliceOfMaps,sourceKey=type,sourceValue=url",
		},
		annotationAdvice: "straight quotes",
		descriptor:       `[{path: bootstrap, x-descriptors: ["service.binding:endpoints:elementType=sliceOfMaps:sourceKey=type:sourceValue=url"]}]`,
		want: map[string]string{
			"endpoints_plain": "myhost2.example.com", "endpoints_tls": "myhost1.example.com:9092,myhost2.example.com:9092",
		},
	},
}

func TestExamplesOfTheDraftAsAnnotations(t *testing.T) {
	t.Parallel()
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := made(t, database, map[string]string{example.key: example.value, "example.com/other": "path=nothing of ours"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(example.want, got); diff != "" {
				t.Errorf("made (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExamplesOfTheDraftOnTheDefinition(t *testing.T) {
	t.Parallel()
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recipe, err := generate.Describe(generate.Sources{
				Kind: databaseKind, Name: "my-cluster", Definition: databaseDefinition, CRD: map[string]string{example.key: example.value},
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := recipe.Make(tree(t, database), reader(objects()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(example.want, strs(got.Data)); diff != "" {
				t.Errorf("made (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExamplesOfTheDraftAsDescriptors(t *testing.T) {
	t.Parallel()
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			csv := clusterServiceVersion(t, "db.v1", "", untabbed(example.descriptor))
			recipe, err := generate.Describe(sourcesOf(csv))
			if err != nil {
				t.Fatal(err)
			}
			got, err := recipe.Make(tree(t, database), reader(objects()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(example.want, strs(got.Data)); diff != "" {
				t.Errorf("made (-want +got):\n%s", diff)
			}
		})
	}
}

func untabbed(text string) string { return strings.ReplaceAll(text, "\t", "  ") }

func sourcesOf(versions ...map[string]any) generate.Sources {
	return generate.Sources{Kind: databaseKind, Name: "my-cluster", Definition: databaseDefinition, Versions: versions}
}

func TestSlipsOfTheDraftGetAdvice(t *testing.T) {
	t.Parallel()
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := described(map[string]string{example.printed[0]: example.printed[1]})
			if err == nil || !strings.Contains(err.Error(), example.annotationAdvice) {
				t.Errorf("the annotation as it is printed gives %v, want advice on %q", err, example.annotationAdvice)
			}
			if example.descriptorPrinted == "" {
				return
			}
			csv := clusterServiceVersion(t, "db.v1", "", untabbed(example.descriptorPrinted))
			_, err = generate.Describe(sourcesOf(csv))
			if err == nil || !strings.Contains(err.Error(), example.descriptorComplain) {
				t.Errorf("the descriptor as it is printed gives %v, want %q", err, example.descriptorComplain)
			}
		})
	}
}
