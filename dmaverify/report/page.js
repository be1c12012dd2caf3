
(function(){
var cards=[].slice.call(document.querySelectorAll('.card')),kind='',find=document.getElementById('find');
var buttons=[].slice.call(document.querySelectorAll('button[data-kind]'));
function show(){
  var words=find.value.toLowerCase().split(/\s+/).filter(Boolean);
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
