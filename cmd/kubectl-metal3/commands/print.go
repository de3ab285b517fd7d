/*
Copyright 2026 The Metal3 HostClaim provider authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/metal3-io/cluster-api-provider-metal3/cmd/kubectl-metal3/report"
)

// apiVersion is that of what is printed as JSON or YAML. No API server has it.
const apiVersion = "kubectl.metal3.io/v1alpha1"

// result is what a command prints: content as JSON or YAML, parts for people.
type result struct {
	kind    string
	content map[string]any
	parts   []part
	// unread are lists that could not be read, for people.
	unread []report.Link
	// failure is what the command ends with when all is printed.
	failure error
}

// part is a table with lines below it.
type part struct {
	columns []metav1.TableColumnDefinition
	rows    []metav1.TableRow
	text    string
}

func (r result) print(streams genericiooptions.IOStreams, format *genericclioptions.PrintFlags) error {
	wide := *format.OutputFormat == "wide"
	if *format.OutputFormat != "" && !wide {
		return r.printObject(streams.Out, format)
	}
	for i, p := range r.parts {
		if i > 0 {
			fmt.Fprintln(streams.Out)
		}
		table := &metav1.Table{ColumnDefinitions: p.columns, Rows: p.rows}
		if err := printers.NewTablePrinter(printers.PrintOptions{Wide: wide}).PrintObj(table, streams.Out); err != nil {
			return err
		}
		fmt.Fprint(streams.Out, p.text)
	}
	for _, l := range r.unread {
		fmt.Fprintf(streams.ErrOut, "%s not read: %s\n", l.Kind, l.Unread)
	}
	if len(r.unread) == 0 && len(r.parts) == 1 && len(r.parts[0].rows) == 0 {
		fmt.Fprintln(streams.ErrOut, "No resources found")
	}
	return nil
}

func (r result) printObject(out io.Writer, format *genericclioptions.PrintFlags) error {
	printer, err := format.ToPrinter()
	if err != nil {
		return err
	}
	text, err := json.Marshal(r.content)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return err
	}
	object.SetAPIVersion(apiVersion)
	object.SetKind(r.kind)
	return printer.PrintObj(object, out)
}

func poolResult(by string, hosts []report.Host, unread []report.Link) result {
	p := part{columns: columns("Namespace", "State", "Use", "Hosts")}
	switch by {
	case "tenant":
		p.columns = columns("Namespace", "Tenant", "State", "Use", "Hosts")
	case "host":
		p.columns = columns("Namespace", "Name", "State", "Use", "Tenant", "Claim", "-Error")
	}
	for _, h := range hosts {
		switch by {
		case "tenant":
			p.add(h.Namespace, h.Tenant, h.State, h.Use, h.Hosts)
		case "host":
			p.add(h.Namespace, h.Name, h.State, h.Use, h.Tenant, h.Claim, h.Error)
		default:
			p.add(h.Namespace, h.State, h.Use, h.Hosts)
		}
	}
	return result{kind: "Pool", content: map[string]any{"items": hosts, "unread": unread}, parts: []part{p}, unread: unread}
}

func claimsResult(claims []report.Claim, unread []report.Link) result {
	p := part{columns: columns("Namespace", "Name", "Cluster", "Host", "Phase", "Ready", "Reason", "Since", "-Admitted", "-Message")}
	for _, c := range claims {
		p.add(c.Namespace, c.Name, c.Cluster, c.Host, c.Phase, c.Ready, c.Reason, ago(c.Since), c.Admitted, c.Message)
	}
	return result{kind: "Claims", content: map[string]any{"items": claims, "unread": unread}, parts: []part{p}, unread: unread}
}

func preflightResult(namespaces []report.Namespace, unread []report.Link) result {
	machines, differences, refused := []report.TakeOver{}, []report.Difference{}, 0
	byMachine := part{columns: columns("Namespace", "Cluster", "Machine", "Host", "Verdict", "Reason")}
	byField := part{columns: columns("Object", "Field", "Here")}
	for _, n := range namespaces {
		machines, differences = append(machines, n.TakeOvers()...), append(differences, n.Differences()...)
	}
	for _, m := range machines {
		byMachine.add(m.Namespace, m.Cluster, m.Machine, m.Host, string(m.Verdict), m.Reason)
		if m.Verdict == report.Refused {
			refused++
		}
	}
	for _, d := range differences {
		byField.add(fmt.Sprintf("%s %s/%s", d.Kind, d.Namespace, d.Name), d.Field, d.Here)
	}
	r := result{
		kind:    "Preflight",
		content: map[string]any{"machines": machines, "differences": differences, "refused": refused, "unread": unread},
		parts:   []part{byMachine, byField}, unread: unread,
	}
	switch {
	case len(unread) > 0:
		r.failure = errors.New("not all could be read: nothing is known of the rest")
	case refused > 0:
		r.failure = fmt.Errorf("%d of %d machines would not be taken over", refused, len(machines))
	}
	return r
}

func machineResult(stations []report.Station, why report.Answer) result {
	p := part{columns: columns("Station", "At", "Took", "-Source"), text: "\n" + causeOf(why)}
	for _, s := range stations {
		at, took := "", ""
		if s.At != nil {
			at = s.At.UTC().Format(time.RFC3339)
		}
		if s.Took != nil {
			took = duration.HumanDuration(s.Took.Duration)
		}
		p.add(s.Name, at, took, s.Source)
	}
	return result{kind: "Stations", content: map[string]any{"stations": stations, "why": why}, parts: []part{p}}
}

func whyResult(answers []report.Answer) result {
	r := result{kind: "Answers", content: map[string]any{"items": answers}}
	for _, answer := range answers {
		p := part{columns: linkColumns(), text: "\n" + causeOf(answer)}
		for _, l := range answer.Path {
			p.addLink("", l)
		}
		r.parts = append(r.parts, p)
	}
	return r
}

func causeOf(answer report.Answer) string {
	text := &strings.Builder{}
	for _, l := range answer.Path {
		if l.Unread != "" {
			fmt.Fprintf(text, "Not read:  %s: %s\n", nameOf(l), l.Unread)
		}
	}
	c := answer.Cause
	if c == nil {
		fmt.Fprintln(text, "Nothing waits.")
		return text.String()
	}
	fmt.Fprintf(text, "Cause:     %s\nCondition: %s, %s\n", nameOf(*c), c.Condition, c.Reason)
	if c.Message != "" {
		fmt.Fprintf(text, "Message:   %s\n", c.Message)
	}
	if c.Since != nil {
		fmt.Fprintf(text, "Since:     %s (%s)\n", c.Since.UTC().Format(time.RFC3339), ago(c.Since))
	}
	fmt.Fprintf(text, "Look at:   %s\n", answer.LookAt)
	return text.String()
}

func treeResult(root report.Link) result {
	p := part{columns: linkColumns()}
	p.addTree("", "", root)
	return result{kind: "Tree", content: map[string]any{"root": root}, parts: []part{p}}
}

func (p *part) addTree(first, rest string, l report.Link) {
	p.addLink(first, l)
	for i, child := range l.Children {
		if i == len(l.Children)-1 {
			p.addTree(rest+"└─", rest+"  ", child)
		} else {
			p.addTree(rest+"├─", rest+"│ ", child)
		}
	}
}

func linkColumns() []metav1.TableColumnDefinition {
	return columns("Object", "Ready", "Reason", "Since", "-Condition", "-Message")
}

func (p *part) addLink(prefix string, l report.Link) {
	if l.Unread != "" {
		p.add(prefix+nameOf(l), "", "not read", "", "", l.Unread)
		return
	}
	p.add(prefix+nameOf(l), l.Ready, l.Reason, ago(l.Since), l.Condition, l.Message)
}

func nameOf(l report.Link) string {
	return fmt.Sprintf("%s %s/%s", l.Kind, l.Namespace, l.Name)
}

// columns are those of a table. A dash before the name stands for a column of the wide form.
func columns(names ...string) []metav1.TableColumnDefinition {
	found := make([]metav1.TableColumnDefinition, 0, len(names))
	for _, name := range names {
		c := metav1.TableColumnDefinition{Name: name, Type: "string"}
		if name[0] == '-' {
			c.Name, c.Priority = name[1:], 1
		}
		found = append(found, c)
	}
	return found
}

// add adds a row; an empty cell shows as a dash, so that columns can be cut.
func (p *part) add(cells ...any) {
	for i, c := range cells {
		if c == "" {
			cells[i] = "-"
		}
	}
	p.rows = append(p.rows, metav1.TableRow{Cells: cells})
}

func ago(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return duration.HumanDuration(time.Since(t.Time))
}
