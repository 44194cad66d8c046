{{/* The name of everything: that of the release, with the chart's name unless it is in it. */}}
{{- define "kron-operator.fullname" -}}
{{- $name := .Values.fullnameOverride }}
{{- if not $name }}
{{- $name = contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) }}
{{- end }}
{{- $name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* What pods are found by; it cannot change while the release lives. */}}
{{- define "kron-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kron-operator.labels" -}}
{{ include "kron-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- define "kron-operator.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "kron-operator.fullname" .) "default") }}
{{- end }}

{{- define "kron-operator.image" -}}
{{- with .Values.image }}
{{- .digest | empty | ternary (printf "%s:%s" .repository (.tag | default $.Chart.AppVersion)) (printf "%s@%s" .repository .digest) }}
{{- end }}
{{- end }}
