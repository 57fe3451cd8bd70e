/* SPDX-License-Identifier: Apache-2.0 */
#include "report/html_private.h"

/* Colours that people with any colour vision can tell apart (after Okabe and Ito), darker on white, lighter on black. */
static const char colors[] =
	":root{color-scheme:light dark;--bg:#fdfdfb;--panel:#fff;--text:#1d2125;--soft:#5c656e;--line:#dfe2e5;"
	"--faint:#eceef0;--accent:#0b5394;--error:#b3261e;--error-bg:#fcedec;--warn:#7a5200;--warn-bg:#fdf5e3;"
	"--note-bg:#f2f4f6;--c0:#0072b2;--c1:#c44e00;--c2:#00845f;--c3:#b0447f;--c4:#a87400;--c5:#2f8fc4;--c6:#6a4c93;"
	"--c7:#6b5a2e;--tare:#7b848c}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14171a;--panel:#1b1f23;--text:#e6e8ea;--soft:#9aa4ad;"
	"--line:#333a41;--faint:#262b30;--accent:#7ab8f5;--error:#ff8a80;--error-bg:#3a1f1d;--warn:#f2c063;"
	"--warn-bg:#332a17;--note-bg:#20252a;--c0:#4aa8e0;--c1:#f0833a;--c2:#2fc297;--c3:#e08abb;--c4:#e6b035;"
	"--c5:#86cdf5;--c6:#b39ae0;--c7:#c9b27a;--tare:#939ca4}}\n";

static const char page[] =
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--bg);color:var(--text);font:15px/1.5 system-ui,-apple-system,\"Segoe "
	"UI\",Roboto,"
	"\"Liberation Sans\",Arial,sans-serif}\n"
	"main{max-width:1080px;margin:0 auto;padding:32px 24px 64px}\n"
	"h1{font-size:28px;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}\n"
	"h2{font-size:19px;margin:44px 0 12px;padding-top:14px;border-top:1px solid var(--line)}\n"
	"h3{font-size:15px;margin:22px 0 6px}\n"
	"p{margin:8px 0;max-width:78ch}\n"
	".lead,.caption,footer{color:var(--soft)}\n"
	".caption{font-size:13px;margin:4px 0 0}\n"
	".scroll{overflow-x:auto}\n"
	"table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums lining-nums}\n"
	"th{font-weight:600;color:var(--soft);font-size:12.5px;text-align:left;vertical-align:bottom;white-space:"
	"nowrap}\n"
	"th,td{padding:6px 14px 6px 0;border-bottom:1px solid var(--faint)}\n"
	"th:last-child,td:last-child{padding-right:0}\n"
	"thead th{border-bottom:1px solid var(--line)}\n"
	"tbody tr:hover{background:var(--note-bg)}\n"
	"td.n,th.n{text-align:right;white-space:nowrap}\n"
	"td.key{font-weight:600;font-size:16px;text-align:right;white-space:nowrap}\n"
	"td:first-child,td:last-child{white-space:nowrap}\n"
	"td small{display:block;color:var(--soft);font-size:11.5px;font-weight:400}\n"
	"td.soft{color:var(--soft)}td.bad{color:var(--error)}\n"
	"tr.tare td{color:var(--soft)}\n"
	"tr.out td{color:var(--error)}\n"
	".swatch{display:inline-block;width:10px;height:10px;border-radius:5px;margin-right:8px;background:"
	"currentColor}\n"
	".problems{list-style:none;margin:18px 0 0;padding:0}\n"
	".problems li{padding:8px 14px;margin:6px 0;border-left:4px solid var(--line);background:var(--note-bg);"
	"overflow-wrap:anywhere}\n"
	".problems .error{border-color:var(--error);background:var(--error-bg)}\n"
	".problems .warning{border-color:var(--c4);background:var(--warn-bg)}\n"
	".problems b{text-transform:capitalize;margin-right:4px}.error b{color:var(--error)}.warning "
	"b{color:var(--warn)}\n"
	"figure{margin:18px 0 30px;padding:16px 16px 12px;background:var(--panel);border:1px solid var(--line);"
	"border-radius:6px}\n"
	"figcaption{font-size:13px;color:var(--soft);margin-top:8px;max-width:100ch}\n"
	"figcaption b{color:var(--text)}\n"
	"details{border:1px solid var(--line);border-radius:6px;margin:8px 0;background:var(--panel);padding:0 16px}\n"
	"summary{cursor:pointer;padding:9px 0;font-weight:600}\n"
	"summary span{font-weight:400;color:var(--soft);margin-left:10px;font-variant-numeric:tabular-nums}\n"
	"details[open]{padding-bottom:14px}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:8px 0;font-size:14px;"
	"font-variant-numeric:tabular-nums}\n"
	"dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
	"pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:14px;overflow-x:auto;"
	"font-size:13px;line-height:1.45}\n"
	"code,pre{font-family:ui-monospace,\"DejaVu Sans Mono\",Consolas,monospace}\n";

static const char figures[] =
	"svg{display:block;width:100%;height:auto;font:12px system-ui,\"Liberation Sans\",Arial,sans-serif}\n"
	"svg text{fill:var(--text);font-variant-numeric:tabular-nums}\n"
	"svg .tick,svg .label{fill:var(--soft)}svg .value,svg .panel{font-weight:600}svg .value{font-size:13px}\n"
	"svg .grid{stroke:var(--faint);fill:none}svg .zero{stroke:var(--soft);fill:none;opacity:.55}\n"
	"svg .block{stroke:var(--line);stroke-dasharray:2 4;fill:none}\n"
	"svg .line{stroke:currentColor;fill:none;stroke-width:2}svg .thin{stroke:currentColor;fill:none;opacity:.6}\n"
	"svg .band{fill:currentColor;opacity:.16;stroke:none}\n"
	"svg .bar{stroke:currentColor;stroke-width:10;opacity:.22;fill:none}\n"
	"svg .whisker{stroke:currentColor;stroke-width:3;fill:none}svg .dot{fill:currentColor}\n"
	"svg .ring{fill:var(--panel);fill-opacity:.6;stroke:currentColor;stroke-width:1.6}\n"
	"svg .median{stroke:currentColor;stroke-width:2;fill:none}\n"
	"svg .truth{fill:var(--panel);stroke:var(--text);stroke-width:1.6}\n"
	"svg .bad{stroke:var(--error);stroke-width:2;fill:none}\n"
	"svg .points{stroke:currentColor;stroke-width:2.2;stroke-linecap:round;fill:none;opacity:.55}\n"
	".c0{color:var(--c0)}.c1{color:var(--c1)}.c2{color:var(--c2)}.c3{color:var(--c3)}.c4{color:var(--c4)}"
	".c5{color:var(--c5)}.c6{color:var(--c6)}.c7{color:var(--c7)}.tare{color:var(--tare)}\n"
	"footer{margin-top:48px;font-size:13px}\n"
	"@media print{body{background:#fff}details{break-inside:avoid}figure{break-inside:avoid}}\n";

void html_style(FILE *out)
{
	fputs(colors, out);
	fputs(page, out);
	fputs(figures, out);
}
