
document.querySelectorAll('figure.memories').forEach(function (figure) {
  var steps = JSON.parse(figure.dataset.steps), told = JSON.parse(figure.dataset.told), now = -1;
  var panes = figure.querySelectorAll('svg.memory'), out = figure.querySelector('output');
  function boxes(pane) { return pane.querySelectorAll('g.box'); }
  function show() {
    panes.forEach(function (pane, side) {
      var lit = now < 0 ? [] : steps[now][side];
      boxes(pane).forEach(function (box, number) { box.classList.toggle('now', lit.indexOf(number) >= 0); });
    });
    if (out) out.textContent = now < 0 ? 'all packets; arrow keys step' :
      'packet ' + (now + 1) + ' of ' + steps.length + ': ' + told[now];
  }
  function step(by) { if (steps.length) { now = Math.max(-1, Math.min(steps.length - 1, now + by)); show(); } }
  figure.addEventListener('keydown', function (event) {
    var by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9 }[event.key];
    if (by) { event.preventDefault(); step(by); }
  });
  figure.addEventListener('click', function (event) {
    var button = event.target.closest('button');
    if (!button) return;
    if (button.dataset.step) step(+button.dataset.step);
    if (button.dataset.axis) {
      var at = Array.prototype.indexOf.call(figure.querySelectorAll('[data-axis]'), button);
      panes.forEach(function (pane) { boxes(pane).forEach(function (box) {
        var value = box.getAttribute('data-v' + at);
        if (value !== null) box.setAttribute('class', 'box h' + value);
      }); });
      show();
    }
  });
});
