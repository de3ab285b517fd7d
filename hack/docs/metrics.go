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

package main

import (
	"cmp"
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// metric is a row of the page of metrics.
type metric struct {
	name, kind, labels, help string
}

// metricsPage renders the metrics that the code registers.
func metricsPage(root string) (string, error) {
	var found []metric
	for _, folder := range []string{"baremetal", "controllers"} {
		files, err := goFiles(filepath.Join(root, folder))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					found = append(found, metricsOf(call)...)
				}
				return true
			})
		}
	}
	slices.SortFunc(found, func(a, b metric) int { return cmp.Compare(a.name, b.name) })
	var page strings.Builder
	page.WriteString("# Metrics\n\n" + generated + "\nThose of controller-runtime come on top, and those of Cluster API's connections " +
		"to workload clusters. Only the leader counts. A gauge without a value means none.\n")
	for _, manager := range [][2]string{{"Provider manager", "capm3_"}, {"Hostclaim manager", "hostclaim_"}} {
		rows := [][]string{{"Metric", "Type", "Labels", "Meaning"}}
		for _, m := range found {
			if strings.HasPrefix(m.name, manager[1]) {
				rows = append(rows, []string{"`" + m.name + "`", m.kind, m.labels, m.help})
			}
		}
		page.WriteString(table(manager[0], "", rows))
	}
	return page.String(), nil
}

// metricsOf returns the metric that a call makes, NewCounterVec or NewDesc for example, or hands on by its name.
func metricsOf(call *ast.CallExpr) []metric {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	m := metric{labels: labels(call)}
	kind := regexp.MustCompile(`^New(Counter|Gauge|Histogram)(Vec)?$`).FindStringSubmatch(s.Sel.Name)
	switch {
	case kind != nil:
		m.kind, m.name, m.help = strings.ToLower(kind[1]), field(call.Args[0], "Name"), field(call.Args[0], "Help")
	case s.Sel.Name == "NewDesc" && len(call.Args) > 1:
		m.kind = "gauge"
		m.name, _ = literal(call.Args[0])
		m.help, _ = literal(call.Args[1])
	case s.Sel.Name == "CountRights":
		for _, arg := range call.Args {
			if name, ok := literal(arg); ok {
				m.name = name
			}
		}
		m.kind, m.help = "gauge", "Verbs that the account has in all namespaces and the hardened install gives in single ones."
	}
	if m.name == "" {
		return nil
	}
	return []metric{m}
}

// field returns the string in a field of a composite literal.
func field(e ast.Expr, name string) string {
	options, ok := e.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, element := range options.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := pair.Key.(*ast.Ident); ok && key.Name == name {
			value, _ := literal(pair.Value)
			return value
		}
	}
	return ""
}

// labels returns the strings of the list that a call takes.
func labels(call *ast.CallExpr) string {
	var names []string
	for _, arg := range call.Args {
		list, ok := arg.(*ast.CompositeLit)
		if !ok {
			continue
		}
		for _, element := range list.Elts {
			if name, ok := literal(element); ok {
				names = append(names, "`"+name+"`")
			}
		}
	}
	return strings.Join(names, ", ")
}
