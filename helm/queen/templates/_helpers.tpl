{{- define "queen.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Pods are called <fullname>-<ordinal>; short enough for a label of 63 characters. */}}
{{- define "queen.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "queen.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "queen.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "queen.headless" -}}
{{- printf "%s-headless" (include "queen.fullname" .) -}}
{{- end -}}

{{- define "queen.selector" -}}
app.kubernetes.io/name: {{ include "queen.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "queen.labels" -}}
{{ include "queen.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "queen.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "queen.secretName" -}}
{{- default (include "queen.fullname" .) .Values.secrets.existingSecret -}}
{{- end -}}

{{- define "queen.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "queen.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "queen.scheme" -}}
{{- if .Values.tls.api.enabled -}}HTTPS{{- else -}}HTTP{{- end -}}
{{- end -}}

{{/* Name of a raft group's port: raft, raft-1, raft-2, … */}}
{{- define "queen.raftPort" -}}
{{- if eq (int .) 0 -}}raft{{- else -}}raft-{{ . }}{{- end -}}
{{- end -}}

{{/* id=host:raft/host:http of every pod; the same text on all of them. */}}
{{- define "queen.peers" -}}
{{- $root := . -}}
{{- $peers := list -}}
{{- range $i := until (int .Values.replicas) -}}
{{- $host := printf "%s-%d.%s.%s.svc.%s" (include "queen.fullname" $root) $i (include "queen.headless" $root) $root.Release.Namespace $root.Values.clusterDomain -}}
{{- $peers = append $peers (printf "%d=%s:%d/%s:%d" (add1 $i) $host (int $root.Values.ports.raft) $host (int $root.Values.ports.http)) -}}
{{- end -}}
{{- join "," $peers -}}
{{- end -}}
