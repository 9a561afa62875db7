"""The style sheet of context views: all under one class, both colour schemes, no outside file."""

STYLE = """
.fv{--ink:#1a1d23;--soft:#5b6370;--faint:#79818e;--line:#e3e6eb;--paper:#fff;--wash:#f6f7f9;
--accent:#0f766e;--mark:250 204 21;--markline:202 138 4;--low:.16;--high:.6;--warn:#9a3412;
--warnwash:#fff4ec;--warnline:#fdba74;--c0:#0f766e;--c1:#6366f1;--c2:#d97706;--c3:#0284c7;
--c4:#be185d;--c5:#65a30d;--c6:#94a3b8;color:var(--ink);background:var(--paper);
font:15px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
color-scheme:light dark;text-align:left}
@media (prefers-color-scheme:dark){.fv{--ink:#e4e7ec;--soft:#a3abb8;--faint:#7b8494;--line:#2c323c;
--paper:#14171c;--wash:#1b1f26;--accent:#2dd4bf;--mark:250 204 21;--markline:250 204 21;--low:.1;
--high:.34;--warn:#fdba74;--warnwash:#2b1d12;--warnline:#7c3a10;--c0:#2dd4bf;--c1:#818cf8;
--c2:#fbbf24;--c3:#38bdf8;--c4:#f472b6;--c5:#a3e635;--c6:#64748b}}
.fv,.fv *{box-sizing:border-box}
/* Hosts such as notebooks style bare elements: undo that with as little weight as it takes. */
.fv ol,.fv ul,.fv figure,.fv h1,.fv h2,.fv li{margin:0;padding:0;list-style:none}
.fv h1{font-size:1.7rem;line-height:1.25;letter-spacing:-.02em}
.fv h2{font-size:1.2rem;line-height:1.3;letter-spacing:-.01em}
.fv a{color:var(--accent);text-decoration:none}
.fv-frag{border-radius:12px;overflow:hidden}
.fv-context{border:1px solid var(--line);border-radius:12px;overflow:hidden;background:var(--paper)}
.fv-head{padding:20px 22px 18px;border-bottom:1px solid var(--line)}
.fv-label{font-size:.7rem;font-weight:600;letter-spacing:.08em;text-transform:uppercase;
color:var(--soft)}
.fv-query{font-size:1.18rem;font-weight:600;line-height:1.35;overflow-wrap:anywhere;
white-space:pre-wrap;margin-top:2px;max-height:11em;overflow:auto}
.fv-count{display:flex;flex-wrap:wrap;align-items:baseline;gap:4px 14px;margin-top:14px}
.fv-count b{font-size:1.5rem;font-weight:650;letter-spacing:-.02em;line-height:1.2}
.fv-count i{font-style:normal;color:var(--accent);font-weight:600}
.fv-count>span,.fv-facts{color:var(--soft);font-size:.86rem}
.fv-query,.fv-text,.fv-prose{text-align:start}
.fv-num{font-variant-numeric:tabular-nums}
.fv-meter{position:relative;height:8px;border-radius:4px;background:var(--line);margin:10px 0}
.fv-meter i{position:absolute;inset:0 auto 0 0;border-radius:4px;background:var(--accent)}
.fv-meter b{position:absolute;top:-4px;bottom:-4px;width:2px;margin-left:-1px;background:var(--ink);
border-radius:1px}
.fv-facts{display:flex;flex-wrap:wrap;gap:2px 18px}
.fv-facts b{font-weight:600;color:var(--ink)}
.fv-warn{margin-top:14px;padding:9px 13px;border:1px solid var(--warnline);
border-radius:8px;background:var(--warnwash);color:var(--warn);font-size:.88rem;
overflow-wrap:anywhere}
.fv-charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(330px,1fr));
border-bottom:1px solid var(--line)}
.fv .fv-charts figure{padding:16px 22px 18px;min-width:0;border-left:1px solid var(--line);
margin-left:-1px}
.fv-charts svg{display:block;width:100%;max-width:480px;height:auto;margin-top:8px}
.fv svg text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:var(--ink)}
.fv svg .fv-off{fill:var(--faint)}
.fv svg .fv-head-text{fill:var(--soft);font-size:11px}
.fv svg path{fill:none;stroke:var(--accent);stroke-width:2}
.fv svg circle{fill:var(--accent)}
.fv svg circle.fv-off{fill:var(--paper);stroke:var(--faint);stroke-width:1.5}
.fv-fall{display:grid;grid-template-columns:auto 1fr auto;gap:5px 12px;align-items:center;
font-size:.82rem;margin-top:10px}
.fv-fall .fv-num{text-align:right;color:var(--soft)}
.fv-fall .fv-sum{font-weight:600;color:var(--ink)}
.fv-track{position:relative;height:14px;border-radius:3px;background:var(--wash)}
.fv-track i{position:absolute;top:0;bottom:0;min-width:2px;border-radius:3px;background:var(--c)}
.fv-stack{display:flex;height:18px;border-radius:4px;overflow:hidden;gap:1px}
.fv-stack i{background:var(--c);min-width:1px}
.fv .fv-key{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:.8rem;color:var(--soft);
margin-top:12px}
.fv-key li::before{content:"";display:inline-block;width:10px;height:10px;border-radius:2px;
margin-right:6px;background:var(--c)}
.fv-card{border-bottom:1px solid var(--line)}
.fv-card:last-child{border-bottom:0}
.fv-card:target{box-shadow:inset 3px 0 var(--accent)}
.fv-card summary{display:grid;grid-template-columns:auto minmax(0,1fr) 118px 118px;gap:4px 16px;
align-items:center;padding:13px 22px;cursor:pointer;list-style:none}
.fv-card summary::-webkit-details-marker{display:none}
.fv-card summary:hover{background:var(--wash)}
.fv-card summary:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
.fv-badge{min-width:28px;height:28px;padding:0 7px;border-radius:8px;background:var(--accent);
color:var(--paper);font-weight:650;font-size:.86rem;line-height:28px;text-align:center}
.fv-out .fv-badge{background:var(--line);color:var(--soft)}
.fv-name{min-width:0}
.fv-name b{display:block;font-weight:600;line-height:1.35;overflow:hidden;text-overflow:ellipsis;
white-space:nowrap}
.fv-out .fv-name b{color:var(--soft);font-weight:500}
.fv-name small{display:block;color:var(--soft);font-size:.78rem;line-height:1.4;overflow:hidden;
text-overflow:ellipsis;white-space:nowrap}
.fv-bar{font-size:.75rem;color:var(--soft);line-height:1.3}
.fv-bar span{display:flex;justify-content:space-between}
.fv-bar u{display:block;height:5px;border-radius:3px;background:var(--line);margin-top:4px;
text-decoration:none;overflow:hidden}
.fv-bar u i{display:block;height:100%;border-radius:3px;background:var(--accent)}
.fv-bar.fv-score u i{background:rgb(var(--markline))}
.fv-text{padding:2px 22px 20px 66px;white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.75}
.fv mark{color:inherit;background:rgb(var(--mark)/calc(var(--low) + var(--high)*var(--s)));
border-radius:3px;padding:.1em .1em;margin:0 -.1em;
box-shadow:inset 0 -2px rgb(var(--markline)/calc(.15 + .75*var(--s)));
-webkit-box-decoration-break:clone;box-decoration-break:clone}
.fv-drop,.fv mark s{color:var(--faint)}
.fv-also{color:var(--soft);margin-left:.2em}
.fv-gap{color:var(--soft);background:var(--wash);border-radius:4px;padding:.1em .5em;
font-size:.8rem}
.fv-note{padding:9px 22px;background:var(--wash);border-bottom:1px solid var(--line);
font-size:.84rem;color:var(--soft)}
.fv-foot{display:flex;flex-wrap:wrap;gap:4px 20px;align-items:center;padding:11px 22px;
background:var(--wash);border-top:1px solid var(--line);color:var(--soft);font-size:.78rem}
.fv-foot mark{padding:.1em .4em;margin:0}
.fv-page{min-height:100vh}
.fv-wide{max-width:1040px;margin:0 auto;padding:32px 20px 56px}
.fv-brand{display:flex;align-items:center;gap:9px;color:var(--soft);font-size:.82rem;
font-weight:600;letter-spacing:.02em;margin-bottom:18px}
.fv-brand::before{content:"";width:14px;height:14px;border-radius:50%;
background:radial-gradient(circle,var(--accent) 0 28%,transparent 30% 52%,var(--accent) 54% 100%)}
.fv-section{margin-top:40px}
.fv .fv-section>*+*{margin-top:16px}
.fv-prose{white-space:pre-wrap;overflow-wrap:anywhere;max-width:74ch}
.fv-answer{border:1px solid var(--line);border-left:4px solid var(--accent);border-radius:10px;
padding:16px 20px;background:var(--wash)}
.fv-answer .fv-prose{margin-top:4px}
.fv-cite{font-weight:600}
.fv-cite.fv-bad{color:var(--warn);text-decoration:underline wavy;cursor:help}
.fv .fv-refs{margin-top:12px;padding-top:10px;border-top:1px solid var(--line);
font-size:.84rem;color:var(--soft)}
.fv .fv-refs li{padding:1px 0}
.fv-panel{border:1px solid var(--line);border-radius:12px;padding:18px 22px}
@media (max-width:640px){.fv-card summary{grid-template-columns:auto 1fr 1fr}
.fv-card summary .fv-name{grid-column:2/-1}.fv-card summary .fv-score{grid-column:2}
.fv-name small{white-space:normal}.fv-text{padding-left:22px}}
@media print{.fv-card{break-inside:avoid}}
"""
