"""How the page of a run looks and moves.

Knows: CSS and a few lines of script.
Does not know: what stands on the page.
Law: no host, no font and no file is named; without the script everything is still there; light, dark and paper.
"""

STYLE = """
:root{--ink:#1b2330;--soft:#5b6779;--line:#dde3ea;--back:#f6f8fa;--card:#fff;--code:#f2f5f8;
--proved:#1a7f4b;--refuted:#c62f3b;--unknown:#b26a00;--expected:#3566b8;--error:#8e1f6b;--suppressed:#6b7280;
--baseline:#6b7280;--read:#2b6cb0;--write:#c05621}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa7b8;--line:#2c3644;--back:#11161d;--card:#181f29;
--code:#10151c;--proved:#4cc38a;--refuted:#ff6b75;--unknown:#e3a13a;--expected:#7fa8ee;--error:#e07fc0;
--read:#6fb1f0;--write:#f09a63}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1.5rem 1.25rem 4rem;background:var(--back);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:.8rem;letter-spacing:.06em;text-transform:uppercase;
color:var(--soft);margin:1.25rem 0 .4rem;font-weight:600}
header{border-left:6px solid var(--refuted);padding:.1rem 0 .1rem 1rem}header.good{border-color:var(--proved)}
header p{margin:.1rem 0;color:var(--soft)}
nav{position:sticky;top:0;background:var(--back);padding:1rem 0 .75rem;z-index:1}
.share{display:flex;height:8px;border-radius:4px;overflow:hidden;gap:2px}
.kinds{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:.75rem}
button{font:inherit;background:var(--card);color:var(--ink);border:1px solid var(--line);border-radius:6px;
padding:.2rem .7rem;cursor:pointer}button.on{outline:2px solid currentColor}
input{font:inherit;flex:1;min-width:12rem;padding:.2rem .7rem;border:1px solid var(--line);border-radius:6px;
background:var(--card);color:var(--ink)}
.share .proved{background:var(--proved)}.share .refuted{background:var(--refuted)}
.share .unknown{background:var(--unknown)}.share .expected{background:var(--expected)}
.share .error{background:var(--error)}.share .suppressed,.share .baseline{background:var(--suppressed)}
button.proved b,.badge.proved{color:var(--proved)}button.refuted b,.badge.refuted{color:var(--refuted)}
button.unknown b,.badge.unknown{color:var(--unknown)}button.expected b,.badge.expected{color:var(--expected)}
button.error b,.badge.error{color:var(--error)}.badge.suppressed,.badge.baseline{color:var(--suppressed)}
.card{scroll-margin-top:7rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:8px;margin:.5rem 0;padding:0 1rem}
.card[open]{padding-bottom:1rem}
summary{cursor:pointer;padding:.55rem 0;display:flex;gap:.75rem;align-items:baseline;flex-wrap:wrap;list-style:none}
summary::-webkit-details-marker{display:none}
.badge{font-size:.72rem;font-weight:700;letter-spacing:.05em;text-transform:uppercase;min-width:5.6rem}
.name{font-weight:600}.at{color:var(--soft);font-size:.85rem}.said{margin-left:auto;color:var(--soft);font-size:.85rem;
text-align:right}
pre,code{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
pre{background:var(--code);border-radius:6px;padding:.75rem 1rem;overflow-x:auto;margin:.5rem 0}
.finding{border-left:3px solid var(--line);padding-left:.9rem;margin:.75rem 0}
.finding.error{border-color:var(--refuted)}.finding.warning{border-color:var(--unknown)}
.excuse{color:var(--soft);margin:.2rem 0}
table{border-collapse:collapse;width:100%}td,th{padding:.2rem .7rem .2rem 0;text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:500;font-size:.8rem}
td.n{text-align:right;font-variant-numeric:tabular-nums;color:var(--soft);white-space:nowrap;width:1%}
.source{background:var(--code);border-radius:6px;display:block;overflow-x:auto;padding:.5rem 0}
.source td{padding:0 .75rem;white-space:pre}
.source tr.error{background:color-mix(in srgb,var(--refuted) 16%,transparent)}
.source tr.warning{background:color-mix(in srgb,var(--unknown) 16%,transparent)}
.cost td:first-child{white-space:nowrap;padding-right:1.5rem}
.proof td,.cost td{border-top:1px solid var(--line)}.cost td.bar{width:30%}
.cost td.bar span{display:block;height:.7rem;margin-top:.35rem;border-radius:3px;background:var(--soft)}
.cost tr.binding td.bar span{background:var(--refuted)}.cost tr.binding{font-weight:600}
.dot{display:inline-block;width:.55rem;height:.55rem;border-radius:50%;margin-right:.5rem;background:var(--soft)}
.dot.proved{background:var(--proved)}.dot.refuted{background:var(--refuted)}.dot.unknown{background:var(--unknown)}
ul{margin:.5rem 0;padding-left:1.2rem;color:var(--soft)}
figure{margin:0}figcaption{color:var(--soft);font-size:.8rem}
svg{width:100%;height:auto;display:block}svg.access{max-width:56rem}svg.counterexample{max-width:52rem;margin:.5rem 0}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg .strong{font-weight:600}svg .word{fill:var(--soft)}
.panel{fill:var(--code)}path.read{stroke:var(--read)}path.write{stroke:var(--write)}
path.read,path.write{stroke-width:2.5;fill:none}
rect.element{fill:var(--code);stroke:var(--line)}rect.asked{fill:none;stroke:var(--proved)}
rect.made{fill:none;stroke:var(--refuted)}rect.lost{fill:none;stroke:var(--unknown);stroke-dasharray:4 3}
.arrow{fill:none;stroke-width:1.5}.arrow.asked{stroke:var(--proved);stroke-dasharray:5 4}
.arrow.made{stroke:var(--refuted)}.arrow.lost{stroke:var(--unknown);stroke-dasharray:2 3}
.hidden{display:none}
@media print{nav,script{display:none}.card{break-inside:avoid}body{background:#fff;max-width:none}}
"""

SCRIPT = """
(function(){
var cards=[].slice.call(document.querySelectorAll('.card')),kind='',find=document.getElementById('find');
var buttons=[].slice.call(document.querySelectorAll('button[data-kind]'));
function show(){
  var words=find.value.toLowerCase().split(/\\s+/).filter(Boolean);
  cards.forEach(function(card){
    var text=card.getAttribute('data-words');
    var fits=(!kind||card.getAttribute('data-kind')===kind)&&words.every(function(w){return text.indexOf(w)>=0});
    card.classList.toggle('hidden',!fits);
  });
  buttons.forEach(function(b){b.classList.toggle('on',b.getAttribute('data-kind')===kind)});
}
buttons.forEach(function(b){b.addEventListener('click',function(){
  var own=b.getAttribute('data-kind');kind=kind===own?'':own;show()})});
find.addEventListener('input',show);
if(location.hash){var at=document.getElementById(location.hash.slice(1));if(at)at.open=true}
})();
"""
