// Made by `deno task page:build`; the sources are the modules beside this folder.
var n;
var t;
var r;
var u;
var i;
var f;
var o;
var e;
var l;
var c;
var a;
var s;
var h = Symbol.for("pv");
var p = {};
var y = [];
var v = /^m(i|n|o|s|text|space)$/;
var w = Array.isArray;
var d = y.slice;
var _ = Object.assign;
function g(n3) {
  n3 && n3.parentNode && n3.remove();
}
function k(n3, t4, r3) {
  var u3, i3, f3, o3 = {}, e3 = arguments.length;
  for (f3 in t4) "key" == f3 ? u3 = t4[f3] : "ref" == f3 && "function" != typeof n3 ? i3 = t4[f3] : o3[f3] = t4[f3];
  return e3 > 2 && (o3.children = e3 > 3 ? d.call(arguments, 2) : r3), m(n3, o3, u3, i3, null);
}
function m(r3, u3, i3, f3, o3) {
  var e3 = {
    type: r3,
    props: u3,
    key: i3,
    ref: f3,
    __k: null,
    __: null,
    __b: 0,
    __e: null,
    __c: null,
    constructor: h,
    __v: o3 || ++t,
    __i: -1,
    __u: 0
  };
  return !o3 && n.vnode && n.vnode(e3), e3;
}
function $(n3) {
  return n3.children;
}
function x(n3, t4) {
  this.props = n3, this.context = t4, this.__g = 0;
}
function S(n3, t4) {
  if (null == t4) return n3.__ && S(n3.__, n3.__i + 1);
  for (var r3; t4 < n3.__k.length; t4++) if ((r3 = n3.__k[t4]) && r3.__e) return r3.__e;
  return "function" != typeof n3.type || n3.props.__P ? null : S(n3);
}
function C(t4) {
  var r3, u3 = t4.__v, i3 = u3.__e, f3 = [], o3 = [], e3 = t4.__P;
  e3 && ((r3 = _({
    constructor: h
  }, u3)).__v = u3.__v + 1, n.vnode && n.vnode(r3), z(e3, r3, u3, t4.__n, e3.namespaceURI, 32 & u3.__u ? [
    i3
  ] : null, f3, i3 || S(u3), 32 & u3.__u, o3), r3.__v = u3.__v, r3.__.__k[r3.__i] = r3, E(f3, r3, o3), u3.__ = u3.__e = null, r3.__e != i3 && j(r3));
}
function j(n3) {
  if ((n3 = n3.__) && n3.__c && !n3.props.__P) return n3.__e = null, n3.__k.some(function(t4) {
    return t4 && (n3.__e = t4.__e);
  }), j(n3);
}
function L(t4) {
  (8 & t4.__g || (t4.__g |= 8, u.push(t4), f++)) && i == n.debounceRendering || ((i = n.debounceRendering) || queueMicrotask)(H);
}
function H() {
  try {
    for (var n3, t4 = 1; u.length; ) u.length > t4 && u.sort(o), n3 = u.shift(), t4 = u.length, 8 & n3.__g && C(n3);
  } finally {
    (f = u.length) && (i || queueMicrotask)(H);
  }
}
function I(n3, t4, r3, u3, i3, f3, o3, e3, l5, c3, a3) {
  var s3, h3, v4, w4, d3, _4, g4 = u3.__k || y, k3 = t4.length;
  for (l5 = q(r3, t4, g4, l5, k3), s3 = 0; s3 < k3; s3++) null != (v4 = r3.__k[s3]) && (h3 = ~v4.__i && g4[v4.__i] || p, v4.__i = s3, _4 = z(n3, v4, h3, i3, f3, o3, e3, l5, c3, a3), w4 = v4.__e, (h3.ref != v4.ref || 8 & h3.__u) && (h3.ref && G(h3.ref, null, v4, h3), v4.ref && a3.push(v4.ref, v4.__c || w4, v4)), d3 = d3 || w4, 4 & v4.__u ? (l5 = A(v4, l5, n3, !h3.__v), h3.__e && (h3.__e = null)) : "function" == typeof v4.type && void 0 !== _4 ? l5 = _4 : w4 && (l5 = w4.nextSibling), v4.__u &= -21);
  return r3.__e = d3, l5;
}
function q(n3, t4, r3, u3, i3) {
  var f3, o3, e3, l5, c3, a3, s3, p3, y4, v4 = r3.length, d3 = v4, _4 = 0, g4 = 0, k3 = n3.__k = Array(i3);
  for (f3 = 0; f3 < i3; f3++) null != (o3 = t4[f3]) && "boolean" != typeof o3 && "function" != typeof o3 ? ("object" != typeof o3 || o3.constructor === String ? o3 = k3[f3] = m(null, o3) : w(o3) ? o3 = k3[f3] = m($, {
    children: o3
  }) : o3.constructor === h && o3.__b ? o3 = k3[f3] = m(o3.type, o3.props, o3.key, o3.ref, o3.__v) : k3[f3] = o3, l5 = f3 + _4, o3.__ = n3, o3.__b = n3.__b + 1, e3 = null, ~(c3 = o3.__i = P(o3, r3, l5, d3)) && (d3--, (e3 = r3[c3]) && (e3.__u |= 2)), e3 && e3.__v ? (o3.__u |= 16, c3 == l5 - 1 ? _4-- : c3 == l5 + 1 ? _4++ : c3 != l5 && (c3 > l5 ? _4-- : _4++, g4 = 1)) : (~c3 || (i3 > v4 ? _4-- : i3 < v4 && _4++), "function" != typeof o3.type && (o3.__u |= 4))) : k3[f3] = null;
  if (g4) {
    for (a3 = [], s3 = [], f3 = 0; f3 < i3; f3++) if ((o3 = k3[f3]) && 16 & o3.__u) {
      for (_4 = 0, p3 = a3.length; _4 < p3; ) a3[y4 = _4 + p3 >> 1] < o3.__i ? _4 = y4 + 1 : p3 = y4;
      a3[_4] = o3.__i, s3[f3] = _4 + 1;
    }
    for (_4 = a3.length; f3--; ) s3[f3] && (s3[f3] == _4 ? _4-- : k3[f3].__u |= 4);
  }
  if (d3) for (f3 = 0; f3 < v4; f3++) !(e3 = r3[f3]) || 2 & e3.__u || (e3.__e == u3 && (u3 = S(e3)), J(e3, e3));
  return u3;
}
function A(n3, t4, r3, u3) {
  var i3, f3, o3, e3;
  if ("function" == typeof n3.type) {
    if (n3.props.__P) return t4;
    if (i3 = n3.__k) for (f3 = 0; f3 < i3.length; f3++) i3[f3] && (i3[f3].__ = n3, t4 = A(i3[f3], t4, r3, false));
    return t4;
  }
  for (t4 && !t4.parentNode && (t4 = S(n3)) && !t4.parentNode && (t4 = null), o3 = n3.__e, e3 = t4; e3 && 8 == e3.nodeType; ) e3 = e3.nextSibling;
  for (o3 != e3 && (!u3 && r3.moveBefore && o3.parentNode ? r3.moveBefore(o3, t4) : r3.insertBefore(o3, t4 || null)), t4 = o3; (t4 = t4 && t4.nextSibling) && 8 == t4.nodeType && !t4.data.startsWith("$s"); ) ;
  return t4;
}
function P(n3, t4, r3, u3) {
  var i3, f3 = n3.key, o3 = n3.type, e3 = t4[r3], l5 = e3 && !(2 & e3.__u);
  if (null === e3 && null == f3 || l5 && f3 == e3.key && o3 == e3.type) return r3;
  if (u3 > (l5 ? 1 : 0)) {
    for (i3 = r3 - 1; i3 >= 0; i3--) if ((e3 = t4[i3]) && !(2 & e3.__u) && f3 == e3.key && o3 == e3.type) return i3;
    for (i3 = r3 + 1; i3 < t4.length; i3++) if ((e3 = t4[i3]) && !(2 & e3.__u) && f3 == e3.key && o3 == e3.type) return i3;
  }
  return -1;
}
function T(n3, t4, r3) {
  null == r3 && (r3 = ""), "-" == t4[0] ? n3.setProperty(t4, r3) : n3[t4] = r3;
}
function N(n3, t4, r3, u3, i3) {
  var f3, o3;
  if ("style" == t4) if ("string" == typeof r3) n3.style.cssText = r3;
  else {
    if ("string" == typeof u3 && (n3.style.cssText = u3 = ""), u3) for (t4 in u3) r3 && t4 in r3 || T(n3.style, t4);
    if (r3) for (t4 in r3) u3 && r3[t4] == u3[t4] || T(n3.style, t4, r3[t4]);
  }
  else if ("o" == t4[0] && "n" == t4[1]) "function" != typeof r3 && (r3 = null), "function" != typeof u3 && (u3 = null), (n3.__e || (n3.__e = {}))[t4] = r3, r3 && u3 || (o3 = a[t4] || (a[t4] = V(t4)), (n3.__a || (n3.__a = {}))[t4] = c, f3 = t4 != (t4 = t4.replace(l, "$1")), (t4 = t4.slice(2))[0] < "a" && (t4 = t4.toLowerCase()), r3 ? n3.addEventListener(t4, o3, f3) : n3.removeEventListener(t4, o3, f3));
  else {
    if ("http://www.w3.org/2000/svg" == i3) t4 = t4.replace(/xlink(H|:h)/, "h").replace(/sName$/, "s");
    else if ("width" != t4 && "height" != t4 && "href" != t4 && "list" != t4 && "form" != t4 && "tabIndex" != t4 && "download" != t4 && "rowSpan" != t4 && "colSpan" != t4 && "role" != t4 && "popover" != t4 && t4 in n3) try {
      return void (n3[t4] = null == r3 ? "" : r3);
    } catch (n4) {
    }
    if ("function" == typeof r3) return;
    null == r3 || false === r3 && "-" != t4[4] ? n3.removeAttribute(t4) : n3.setAttribute(t4, "popover" == t4 && 1 == r3 ? "" : r3);
  }
}
function V(t4) {
  return function(r3) {
    var u3 = this.__e;
    if (u3) {
      if (u3 = u3[t4], null == r3[e]) r3[e] = c++;
      else if (r3[e] < this.__a[t4]) return;
      return u3(n.event ? n.event(r3) : r3);
    }
  };
}
function z(t4, r3, u3, i3, f3, o3, e3, l5, c3, a3) {
  var s3, p3, v4, d3, k3, b, m4, M2, C4, j2, L3, H2, q3, A4, O2, P3, T3, N3, V3 = r3.type;
  if (r3.constructor !== h) return null;
  128 & u3.__u && (c3 = 32 & u3.__u, s3 = u3.__c.__z) && (r3.__u |= c3, p3 = o3 = [], 8 == s3.nodeType ? l5 = B(s3, o3) : o3.push(s3), l5 = o3[0] || l5), (s3 = n.__b) && s3(r3);
  n: if ("function" == typeof V3) {
    v4 = e3.length;
    try {
      if (M2 = r3.props, C4 = (s3 = V3.prototype) && s3.render, j2 = (s3 = V3.contextType) && i3[s3.__c], L3 = s3 ? j2 ? j2.props.value : s3.__ : i3, (d3 = u3.__c) ? (r3.__c = d3, 2 & d3.__g && (d3.__g |= 1)) : (C4 ? r3.__c = d3 = new V3(M2, L3) : (r3.__c = d3 = new x(M2, L3), d3.constructor = V3, d3.render = K), j2 && j2.sub(d3), d3.state || (d3.state = {}), d3.__n = i3, d3.__g |= 8, d3.__h = [], d3.__k = []), C4 && (d3.__s || (d3.__s = d3.state), V3.getDerivedStateFromProps && (d3.__s == d3.state && (d3.__s = _({}, d3.__s)), _(d3.__s, V3.getDerivedStateFromProps(M2, d3.__s)))), k3 = d3.props, b = d3.state, d3.__v = r3, u3.__c) {
        if (M2 !== k3 && C4 && !V3.getDerivedStateFromProps && d3.componentWillReceiveProps && d3.componentWillReceiveProps(M2, L3), r3.__v == u3.__v && !(8 & d3.__g) || !(4 & d3.__g) && d3.shouldComponentUpdate && false === d3.shouldComponentUpdate(M2, d3.__s, L3)) {
          r3.__v != u3.__v && (d3.props = M2, d3.state = d3.__s, d3.__g &= -9), r3.__e = u3.__e, r3.__k = u3.__k, r3.__k.some(function(n3) {
            n3 && (n3.__ = r3);
          }), y.push.apply(d3.__h, d3.__k), d3.__k = [], d3.__h.length && e3.push(d3), l5 = S(u3);
          break n;
        }
        d3.componentWillUpdate && d3.componentWillUpdate(M2, d3.__s, L3), C4 && d3.componentDidUpdate && d3.__h.push(function() {
          d3.componentDidUpdate(k3, b, m4);
        });
      } else C4 && !V3.getDerivedStateFromProps && d3.componentWillMount && d3.componentWillMount(), C4 && d3.componentDidMount && d3.__h.push(d3.componentDidMount);
      d3.context = L3, d3.props = M2, d3.__P = t4, d3.__g &= -5, H2 = n.__r, q3 = C4 ? 25 : 0;
      do {
        d3.__g &= -9, H2 && H2(r3), s3 = d3.render(d3.props, d3.state = d3.__s, d3.context);
      } while (8 & d3.__g && ++q3 < 25);
      C4 && (y.push.apply(d3.__h, d3.__k), d3.__k = []), d3.state = d3.__s, d3.getChildContext && (i3 = _({}, i3, d3.getChildContext())), C4 && u3.__c && d3.getSnapshotBeforeUpdate && (m4 = d3.getSnapshotBeforeUpdate(k3, b)), A4 = s3 && s3.type === $ && null == s3.key ? s3.props.children : s3, M2.__P && (s3 = l5, f3 = (t4 = M2.__P).namespaceURI, c3 = o3 = null, u3.props && u3.props.__P != t4 && (u3.__k.some(function(n3) {
        n3 && J(n3, n3);
      }), u3.__k = null), l5 = u3.__k ? S(u3, 0) : null), l5 = I(t4, w(A4) ? A4 : [
        A4
      ], r3, u3, i3, f3, o3, e3, l5, c3, a3), M2.__P && (r3.__e = null, l5 = s3), r3.__u &= -161, p3 && p3.some(g), d3.__h.length && e3.push(d3), 1 & d3.__g && (d3.__g &= -4);
    } catch (t5) {
      if (e3.length = v4, r3.__v = null, c3 || o3) if (t5 && t5.then) {
        if (r3.__u |= 128 | c3, o3) {
          for (~(T3 = o3.indexOf(l5 || void 0)) || (T3 = o3.length); (N3 = o3[T3 - 1]) && 8 == N3.nodeType; ) T3--;
          for (; T3 < o3.length; T3++) if (N3 = o3[T3]) if (o3[T3] = null, O2) {
            if (N3 == P3) break;
          } else {
            if (8 != N3.nodeType) break;
            N3.data.startsWith("$s") && (P3 = B(O2 = N3));
          }
        }
        if (!O2) {
          for (; l5 && 8 == l5.nodeType && l5.nextSibling; ) l5 = l5.nextSibling;
          O2 = l5;
        }
        (s3 = B(O2 = r3.__c.__z || (r3.__c.__z = O2))) ? (r3.__e = O2, l5 = s3) : r3.__e = l5, l5 = l5 && l5.nextSibling;
      } else o3 && o3.some(g);
      else r3.__e = u3.__e;
      r3.__k || (r3.__k = u3.__k || []), t5 && t5.then || D(r3), n.__e(t5, r3, u3);
    }
  } else l5 = r3.__e = F(u3.__e, r3, u3, i3, f3, o3, e3, c3, a3, t4);
  return (s3 = n.diffed) && s3(r3), l5;
}
function B(n3, t4) {
  if (n3 && 8 == n3.nodeType && n3.data.startsWith("$s")) for (var r3 = 1; n3 = n3.nextSibling; ) {
    if (8 == n3.nodeType) {
      if (n3.data.startsWith("$s")) r3++;
      else if (n3.data.startsWith("/$s") && !--r3) return n3;
    }
    t4 && t4.push(n3);
  }
}
function D(n3) {
  n3 && (n3.__c && (n3.__c.__g |= 4), n3.__k && n3.__k.some(D));
}
function E(t4, r3, u3) {
  for (var i3 = 0; i3 < u3.length; ) G(u3[i3++], u3[i3++], u3[i3++]);
  n.__c && n.__c(r3, t4), t4.some(function(r4) {
    try {
      t4 = r4.__h, r4.__h = [], t4.some(function(n3) {
        n3.call(r4);
      });
    } catch (t5) {
      n.__e(t5, r4.__v);
    }
  });
}
function F(t4, r3, u3, i3, f3, o3, e3, l5, c3, a3) {
  var s3, h3, y4, _4, k3, b, m4, M2, $2 = u3.props || p, x3 = r3.props, C4 = r3.type;
  if ("svg" == C4 ? f3 = "http://www.w3.org/2000/svg" : "math" == C4 ? f3 = "http://www.w3.org/1998/Math/MathML" : f3 || (f3 = "http://www.w3.org/1999/xhtml"), o3) {
    for (s3 = 0; s3 < o3.length; s3++) if ((k3 = o3[s3]) && (C4 ? k3.localName == C4 : 3 == k3.nodeType)) {
      t4 = k3, o3[s3] = null;
      break;
    }
  }
  if (!t4) {
    if (M2 = a3.ownerDocument || document, !C4) return M2.createTextNode(x3);
    t4 = M2.createElementNS(f3, C4, x3.is ? x3 : a3), l5 && (n.__m && n.__m(r3, o3), l5 = false), o3 = null;
  }
  if (C4) {
    if (a3 = "template" == C4 && t4.content || t4, o3 = "textarea" == C4 && null != x3.defaultValue ? null : o3 && d.call(a3.childNodes), !l5 && o3) for ($2 = {}, s3 = 0; s3 < t4.attributes.length; s3++) $2[(k3 = t4.attributes[s3]).name] = k3.value;
    for (s3 in $2) k3 = $2[s3], "dangerouslySetInnerHTML" == s3 ? y4 = k3 : "children" == s3 || s3 in x3 || "value" == s3 && "defaultValue" in x3 || "checked" == s3 && "defaultChecked" in x3 || N(t4, s3, null, k3, f3);
    for (s3 in x3) k3 = x3[s3], "children" == s3 ? _4 = k3 : "dangerouslySetInnerHTML" == s3 ? h3 = k3 : "value" == s3 ? b = k3 : "checked" == s3 ? m4 = k3 : l5 && "function" != typeof k3 || $2[s3] === k3 || N(t4, s3, k3, $2[s3], f3);
    h3 ? (l5 || y4 && (h3.__html == y4.__html || h3.__html == t4.innerHTML) || (t4.innerHTML = h3.__html), r3.__k = []) : (y4 && (t4.textContent = ""), ("foreignObject" == C4 || "http://www.w3.org/1998/Math/MathML" == f3 && v.test(C4)) && (f3 = "http://www.w3.org/1999/xhtml"), I(a3, w(_4) ? _4 : [
      _4
    ], r3, u3, i3, f3, o3, e3, o3 ? o3[0] : u3.__k && S(u3, 0), l5, c3), o3 && o3.some(g)), l5 && "textarea" != C4 || (s3 = "value", "progress" == C4 && null == b ? t4.removeAttribute(s3) : null == b || b === t4[s3] && ("progress" != C4 || b) || N(t4, s3, b, $2[s3], f3), s3 = "checked", null != m4 && m4 != t4[s3] && N(t4, s3, m4, $2[s3], f3));
  } else $2 === x3 || l5 && t4.data == x3 || (t4.data = x3);
  return t4;
}
function G(t4, r3, u3, i3) {
  try {
    "function" == typeof t4 ? r3 ? r3.__x = t4(r3) || 1 : i3 && (i3 = i3.__c || i3.__e) && (r3 = i3.__x) && (i3.__x = null, "function" == typeof r3 ? r3() : t4(null)) : t4.current = r3;
  } catch (t5) {
    n.__e(t5, u3);
  }
}
function J(t4, r3, u3) {
  var i3, f3, o3, e3;
  if (n.unmount && n.unmount(t4), !(i3 = t4.ref) || i3.current && i3.current != t4.__e || G(i3, null, r3, t4), i3 = t4.__c) {
    if (i3.componentWillUnmount) try {
      i3.componentWillUnmount();
    } catch (t5) {
      n.__e(t5, r3);
    }
    i3.__P = i3.__n = null;
  }
  if (i3 = t4.__k) for (e3 = 0; e3 < i3.length; e3++) i3[e3] && J(i3[e3], r3, "function" != typeof t4.type || u3 && !t4.props.__P);
  !u3 && (i3 = t4.__c) && (i3 = i3.__z) && (f3 = B(i3, o3 = [])) && (i3 == t4.__e && o3.some(g), g(f3), g(i3)), u3 || g(t4.__e), t4.__e = t4.__c = t4.__ = null;
}
function K(n3, t4, r3) {
  return this.constructor(n3, r3);
}
function Q(t4, r3) {
  var u3, i3, f3, o3;
  n.__ && n.__(t4, r3), 9 == r3.nodeType && (r3 = r3.documentElement), i3 = (u3 = t4 && 32 & t4.__u) ? null : r3.__k, r3.__k = m($, {
    children: [
      t4
    ]
  }), f3 = [], o3 = [], z(r3, r3.__k, i3 || p, p, r3.namespaceURI, i3 ? null : r3.firstChild ? d.call(r3.childNodes) : null, f3, i3 ? i3.__e : r3.firstChild, u3, o3), E(f3, r3.__k, o3), r3.__k.props.children = null;
}
n = {
  __e: function(n3, t4, r3, u3) {
    for (var i3, o3, e3; t4 = t4.__; ) if ((i3 = t4.__c) && !(1 & i3.__g)) {
      i3.__g |= 4;
      try {
        if ((e3 = (o3 = i3.constructor) && o3.getDerivedStateFromError) && i3.setState(o3.getDerivedStateFromError(n3)), i3.componentDidCatch && (i3.componentDidCatch(n3, u3 || {}), e3 = 1), e3 && 8 & i3.__g) return void (i3.__g |= 2);
      } catch (t5) {
        n3 = t5;
      }
    }
    throw f = 0, n3;
  }
}, t = 0, r = function(n3) {
  return null != n3 && n3.constructor === h;
}, x.prototype.setState = function(n3, t4) {
  var r3 = this.__s;
  r3 && r3 != this.state || (r3 = this.__s = _({}, this.state)), "function" == typeof n3 && (n3 = n3(_({}, r3), this.props)), n3 && (_(r3, n3), this.__v && (t4 && this.__k.push(t4), L(this)));
}, x.prototype.forceUpdate = function(n3) {
  this.__v && (this.__g |= 4, n3 && this.__h.push(n3), L(this));
}, x.prototype.render = $, u = [], f = 0, o = function(n3, t4) {
  return n3.__v.__b - t4.__v.__b;
}, e = Symbol(), l = /(PointerCapture)$|Capture$/i, c = 0, a = {}, s = 0;

var n2 = function(t4, s3, r3, e3) {
  var u3;
  s3[0] = 0;
  for (var h3 = 1; h3 < s3.length; h3++) {
    var p3 = s3[h3++], a3 = s3[h3] ? (s3[0] |= p3 ? 1 : 2, r3[s3[h3++]]) : s3[++h3];
    3 === p3 ? e3[0] = a3 : 4 === p3 ? e3[1] = Object.assign(e3[1] || {}, a3) : 5 === p3 ? (e3[1] = e3[1] || {})[s3[++h3]] = a3 : 6 === p3 ? e3[1][s3[++h3]] += a3 + "" : p3 ? (u3 = t4.apply(a3, n2(t4, a3, r3, [
      "",
      null
    ])), e3.push(u3), a3[0] ? s3[0] |= 2 : (s3[h3 - 2] = 0, s3[h3] = u3)) : e3.push(a3);
  }
  return e3;
};
var t2 = /* @__PURE__ */ new Map();
function htm_module_default(s3) {
  var r3 = t2.get(this);
  return r3 || (r3 = /* @__PURE__ */ new Map(), t2.set(this, r3)), (r3 = n2(this, r3.get(s3) || (r3.set(s3, r3 = function(n3) {
    for (var t4, s4, r4 = 1, e3 = "", u3 = "", h3 = [
      0
    ], p3 = function(n4) {
      1 === r4 && (n4 || (e3 = e3.replace(/^\s*\n\s*|\s*\n\s*$/g, ""))) ? h3.push(0, n4, e3) : 3 === r4 && (n4 || e3) ? (h3.push(3, n4, e3), r4 = 2) : 2 === r4 && "..." === e3 && n4 ? h3.push(4, n4, 0) : 2 === r4 && e3 && !n4 ? h3.push(5, 0, true, e3) : r4 >= 5 && ((e3 || !n4 && 5 === r4) && (h3.push(r4, 0, e3, s4), r4 = 6), n4 && (h3.push(r4, n4, 0, s4), r4 = 6)), e3 = "";
    }, a3 = 0; a3 < n3.length; a3++) {
      a3 && (1 === r4 && p3(), p3(a3));
      for (var l5 = 0; l5 < n3[a3].length; l5++) t4 = n3[a3][l5], 1 === r4 ? "<" === t4 ? (p3(), h3 = [
        h3
      ], r4 = 3) : e3 += t4 : 4 === r4 ? "--" === e3 && ">" === t4 ? (r4 = 1, e3 = "") : e3 = t4 + e3[0] : u3 ? t4 === u3 ? u3 = "" : e3 += t4 : '"' === t4 || "'" === t4 ? u3 = t4 : ">" === t4 ? (p3(), r4 = 1) : r4 && ("=" === t4 ? (r4 = 5, s4 = e3, e3 = "") : "/" === t4 && (r4 < 5 || ">" === n3[a3][l5 + 1]) ? (p3(), 3 === r4 && (h3 = h3[0]), r4 = h3, (h3 = h3[0]).push(2, 0, r4), r4 = 0) : " " === t4 || "	" === t4 || "\n" === t4 || "\r" === t4 ? (p3(), r4 = 2) : e3 += t4), 3 === r4 && "!--" === e3 && (r4 = 4, h3 = h3[0]);
    }
    return p3(), h3;
  }(s3)), r3), arguments, [])).length > 1 ? r3 : r3[0];
}

var m2 = htm_module_default.bind(k);

var t3;
var r2;
var u2;
var i2;
var o2 = Object.is;
var f2 = 0;
var c2 = [];
var e2 = [];
var a2 = n;
var v2 = a2.__b;
var l2 = a2.__r;
var m3 = a2.diffed;
var h2 = a2.__c;
var s2 = a2.unmount;
var p2 = a2.__;
function y2(n3, t4) {
  a2.__h && a2.__h(r2, n3, f2 || t4), f2 = 0;
  var u3 = r2.__H || (r2.__H = {
    __: [],
    __h: []
  });
  return n3 >= u3.__.length && u3.__.push({}), u3.__[n3];
}
function d2(n3) {
  return f2 = 1, _2(G2, n3);
}
function _2(n3, u3, i3) {
  var f3 = y2(t3++, 2);
  if (f3.t = n3, !f3.__c && (f3.__ = [
    i3 ? i3(u3) : G2(void 0, u3),
    function(n4) {
      var t4 = (f3.__N || f3.__)[0], r3 = f3.t(t4, n4);
      o2(t4, r3) || (f3.__N = [
        r3,
        f3.__[1]
      ], f3.__c.setState({}));
    }
  ], f3.__c = r2, !r2.__f)) {
    r2.__f = true;
    var c3 = r2.shouldComponentUpdate;
    r2.shouldComponentUpdate = function(n4, t4, r3) {
      var u4 = this.__H;
      if (!u4) return true;
      var i4 = false, f4 = this.props != n4;
      if (u4.__.some(function(n5) {
        n5.__N && (i4 = true, o2(n5.__[0], n5.__N[0]) || (f4 = true));
      }), c3) {
        var e3 = c3.call(this, n4, t4, r3);
        return i4 ? e3 || f4 : e3;
      }
      return !i4 || f4;
    };
  }
  return f3.__;
}
function A2(n3, u3) {
  var i3 = y2(t3++, 3);
  !a2.__s && E2(i3.__H, u3) && (i3.__P = true, i3.__ = n3, i3.u = u3, r2.__H.__h.push(i3));
}
function F2(n3, u3) {
  var i3 = y2(t3++, 4);
  !a2.__s && E2(i3.__H, u3) && (i3.__P = false, i3.__ = n3, i3.u = u3, r2.__h.push(i3));
}
function T2(n3) {
  return f2 = 5, w2(function() {
    return {
      current: n3
    };
  }, []);
}
function w2(n3, r3) {
  var u3 = y2(t3++, 7);
  return E2(u3.__H, r3) && (u3.__ = n3(), u3.__H = r3), u3.__;
}
function g2() {
  var n3;
  do {
    for (; n3 = e2.shift(); ) try {
      C2(n3);
    } catch (t5) {
      a2.__e(t5, {
        __: (n3 = n3.__P) && n3.__v
      });
    }
    for (; n3 = c2.shift(); ) {
      var t4 = n3.__H;
      if (n3.__P && t4) try {
        t4.__h.some(C2), t4.__h.some(D2), t4.__h = [];
      } catch (r3) {
        t4.__h = [], a2.__e(r3, n3.__v);
      }
    }
  } while (e2.length);
}
a2.__b = function(n3) {
  r2 = null, v2 && v2(n3);
}, a2.__ = function(n3, t4) {
  n3 && t4.__k && t4.__k.__m && (n3.__m = t4.__k.__m), p2 && p2(n3, t4);
}, a2.__r = function(n3) {
  l2 && l2(n3), t3 = 0;
  var i3 = (r2 = n3.__c).__H;
  i3 && (u2 == r2 ? r2.__h = [] : (i3.__h.some(C2), i3.__h.some(D2), t3 = 0), i3.__h = [], i3.__.some(function(n4) {
    n4.__N && (n4.__ = n4.__N), n4.u = n4.__N = void 0;
  })), u2 = r2;
}, a2.diffed = function(n3) {
  m3 && m3(n3);
  var t4 = n3.__c;
  t4 && t4.__H && (t4.__H.__h.length && B2(c2.push(t4)), t4.__H.__.some(function(n4) {
    n4.u && (n4.__H = n4.u);
  })), u2 = r2 = null;
}, a2.__c = function(n3, t4) {
  t4.some(function(n4) {
    try {
      n4.__h.some(C2), n4.__h = n4.__h.filter(function(n5) {
        return !n5.__ || D2(n5);
      });
    } catch (t5) {
      n4.__h = [
        function() {
          throw t5;
        }
      ];
    }
  }), h2 && h2(n3, t4);
}, a2.unmount = function(n3) {
  s2 && s2(n3);
  var t4, r3, u3 = n3.__c;
  u3 && u3.__H && (u3.__H.__.some(function(u4) {
    try {
      if (u4.__P && u4.__c) {
        if (void 0 === r3) {
          for (r3 = n3.__; r3 && (!r3.__c || !r3.__c.__P); ) r3 = r3.__;
          r3 = r3 && r3.__c;
        }
        u4.__P = r3, B2(e2.push(u4));
      } else C2(u4);
    } catch (n4) {
      t4 = n4;
    }
  }), u3.__H = void 0, t4 && a2.__e(t4, u3.__v));
};
var k2 = "function" == typeof requestAnimationFrame;
function z2(n3) {
  var t4, r3 = function() {
    clearTimeout(u3), k2 && cancelAnimationFrame(t4), setTimeout(n3);
  }, u3 = setTimeout(r3, 35);
  k2 && (t4 = requestAnimationFrame(r3));
}
function B2(n3) {
  1 != n3 && i2 == a2.requestAnimationFrame || ((i2 = a2.requestAnimationFrame) || z2)(g2);
}
function C2(n3) {
  var t4 = r2, u3 = n3.__c;
  "function" == typeof u3 && (n3.__c = void 0, u3()), r2 = t4;
}
function D2(n3) {
  var t4 = r2;
  n3.__c = n3.__(), r2 = t4;
}
function E2(n3, t4) {
  return !n3 || n3.length != t4.length || t4.some(function(t5, r3) {
    return !o2(t5, n3[r3]);
  });
}
function G2(n3, t4) {
  return "function" == typeof t4 ? t4(n3) : t4;
}

var ClientError = class extends Error {
  /** The name of the class. */
  name = "ClientError";
  /** A stable, machine-readable code. */
  code;
  /** Status of the response; 0 where there was none. */
  status;
  /** Facts that a caller can act on, by name: `turn`, `pending`, `limit`, … */
  fields;
  /** Times that it was tried. */
  tries;
  /**
   * Makes an error.
   *
   * @param code A stable, machine-readable code.
   * @param message A sentence for people.
   * @param options Status, facts and cause.
   */
  constructor(code, message, options = {}) {
    super(message, options.cause === void 0 ? void 0 : {
      cause: options.cause
    });
    this.code = code;
    this.status = options.status ?? 0;
    this.fields = options.fields ?? {};
    this.tries = options.tries ?? 1;
  }
};
function isRefusal(error) {
  return error instanceof ClientError && error.status >= 400 && error.status < 500;
}

var MAX_TEXT = 256 * 1024 * 1024;
async function* readText({ body }, { clock, stallMs, signal }) {
  if (body === null) return;
  const reader = body.getReader();
  const done = new AbortController();
  let waitsSince = null;
  let isStalled = false;
  const stop = () => void reader.cancel().catch(() => {
  });
  const watch = async () => {
    let left = stallMs;
    while (left > 0) {
      await clock.sleep(left, done.signal);
      left = waitsSince === null ? stallMs : waitsSince + stallMs - clock.now();
    }
    isStalled = true;
    stop();
  };
  watch().catch(() => {
  });
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, {
    once: true
  });
  const decoder = new TextDecoder("utf-8", {
    ignoreBOM: true
  });
  let isFirst = true;
  try {
    for (; ; ) {
      waitsSince = clock.now();
      const { value, done: isOver } = await reader.read().catch((cause) => {
        signal?.throwIfAborted();
        throw new ClientError("network", "Cannot read the answer: the connection broke off in it", {
          cause
        });
      });
      signal?.throwIfAborted();
      if (isStalled) {
        throw new ClientError("stalled", `Cannot read the answer: nothing came for ${stallMs} ms`);
      }
      waitsSince = null;
      if (isOver) break;
      const text2 = decoder.decode(value, {
        stream: true
      });
      if (text2 === "") continue;
      yield isFirst && text2.startsWith("\uFEFF") ? text2.slice(1) : text2;
      isFirst = false;
    }
    const rest = decoder.decode();
    if (rest !== "") yield rest;
  } finally {
    done.abort();
    signal?.removeEventListener("abort", stop);
    stop();
  }
}
async function wholeText(response, options) {
  const text2 = await startOfText(response, {
    ...options,
    maxLength: MAX_TEXT + 1
  });
  if (text2.length <= MAX_TEXT) return text2;
  throw new ClientError("bad_answer", `Cannot read the answer: found over ${MAX_TEXT} characters, wanted less`);
}
async function startOfText(response, { maxLength, ...options }) {
  let text2 = "";
  for await (const piece of readText(response, options)) {
    text2 += piece;
    if (text2.length >= maxLength) break;
  }
  return text2;
}

function sayValue(value) {
  if (value === void 0) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}\u2026` : value);
}
function rule(wanted, isFit) {
  return (value) => isFit(value) ? null : {
    field: "",
    found: sayValue(value),
    wanted
  };
}
var text = rule("text", (value) => typeof value === "string");
var aName = rule("a name", (value) => typeof value === "string" && value !== "");
var yesOrNo = rule("true or false", (value) => typeof value === "boolean");
var aFunction = rule("a function", (value) => typeof value === "function");
var aClock = rule("a clock with now() and sleep()", (value) => hasMethods(value, [
  "now",
  "sleep"
]));
function number(wanted, { least, most = Infinity }) {
  return rule(wanted, (value) => typeof value === "number" && value >= least && value <= most);
}
function whole(wanted, { least, most = Infinity }) {
  return rule(wanted, (value) => (Number.isInteger(value) || value === Infinity) && Number(value) >= least && Number(value) <= most);
}
function hasMethods(value, names) {
  return (typeof value === "object" || typeof value === "function") && value !== null && names.every((name) => typeof value[name] === "function");
}
function orFunction(first) {
  return (value) => typeof value === "function" ? null : alsoWanting(first(value), "a function");
}
function alsoWanting(fault, wanted) {
  return fault === null || fault.field !== "" ? fault : {
    ...fault,
    wanted: `${fault.wanted}, or ${wanted}`
  };
}
function secret(of) {
  return (value) => {
    const fault = of(value);
    return fault === null || !fault.found.startsWith('"') ? fault : {
      ...fault,
      found: "a text"
    };
  };
}
function byName(wanted, member) {
  return (value) => {
    if (!isPlain(value)) return {
      field: "",
      found: sayValue(value),
      wanted
    };
    return firstFault(Object.entries(value).map(([name, item]) => [
      name,
      item,
      member
    ]));
  };
}
function optionsOf(rules2, needed = []) {
  const names = Object.keys(rules2);
  return (value) => {
    if (!isPlain(value)) {
      const of = needed.length === 0 ? names : needed;
      return {
        field: "",
        found: sayValue(value),
        wanted: `an object with ${of.join(", ")}`
      };
    }
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(rules2, name));
    if (unknown !== void 0) {
      const wanted = `only ${names.join(", ")}`;
      return {
        field: unknown.slice(0, 60),
        found: "an option that nobody knows",
        wanted
      };
    }
    return firstFault(Object.entries(rules2).flatMap(([name, of]) => value[name] === void 0 && !needed.includes(name) ? [] : [
      [
        name,
        value[name],
        of
      ]
    ]));
  };
}
function isPlain(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
function firstFault(items) {
  for (const [name, value, of] of items) {
    const fault = of(value);
    if (fault === null) continue;
    const joint = fault.field === "" || fault.field.startsWith("[") ? "" : ".";
    return {
      ...fault,
      field: `${name}${joint}${fault.field}`
    };
  }
  return null;
}
function requireOptions(action, options, of) {
  const fault = of(options);
  if (fault === null) return;
  const { field, found, wanted } = fault;
  throw new TypeError(`Cannot ${action}: ${field === "" ? "" : `${field}: `}found ${found}, wanted ${wanted}`);
}

var LONGEST_MS = 2 ** 31 - 1;
var SOON_MS = 50;
var heap = [];
var timer;
var armed = Infinity;
function callAfter(ms, call) {
  const due = {
    time: performance.now() + ms,
    call,
    at: heap.length
  };
  heap.push(due);
  settle(due);
  arm(heap.length === 1 ? SOON_MS : LONGEST_MS);
  return () => {
    if (heap[due.at] === due) remove(due);
  };
}
function arm(mostMs = LONGEST_MS) {
  const [first] = heap;
  if (first === void 0) {
    clearTimeout(timer);
    timer = void 0;
    armed = Infinity;
  } else if (first.time < armed || timer === void 0) {
    clearTimeout(timer);
    const now = performance.now();
    const ms = Math.min(Math.max(0, first.time - now), mostMs);
    armed = Math.min(first.time, now + ms);
    timer = setTimeout(fire, Math.ceil(ms));
  }
}
function fire() {
  timer = void 0;
  armed = Infinity;
  const now = performance.now();
  for (let [first] = heap; first !== void 0 && first.time <= now; [first] = heap) {
    remove(first);
    first.call();
  }
  arm();
}
function remove(due) {
  const last = heap.pop();
  if (last !== void 0 && last !== due) {
    put(last, due.at);
    settle(last);
  }
  if (heap.length === 0) arm();
}
function put(due, at2) {
  heap[at2] = due;
  due.at = at2;
}
function settle(due) {
  for (; ; ) {
    const above = heap[due.at - 1 >> 1];
    if (due.at === 0 || above === void 0 || above.time <= due.time) break;
    const { at: at2 } = above;
    put(above, due.at);
    put(due, at2);
  }
  for (; ; ) {
    const [left, right] = [
      heap[2 * due.at + 1],
      heap[2 * due.at + 2]
    ];
    const below = right !== void 0 && left !== void 0 && right.time < left.time ? right : left;
    if (below === void 0 || due.time <= below.time) break;
    const { at: at2 } = below;
    put(below, due.at);
    put(due, at2);
  }
}

var systemClock = {
  now: () => Date.now(),
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        takeBack();
        reject(signal?.reason);
      };
      const takeBack = callAfter(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, {
        once: true
      });
    });
  }
};

var BACKOFF_MS = {
  first: 250,
  most: 1e4
};
var MAX_WAIT_MS = 6e4;
var PASSING = /* @__PURE__ */ new Set([
  429,
  502,
  503,
  504
]);
var Tries = class {
  #of;
  #most;
  #failed = 0;
  /** Makes it; `most` tries in a row may come to nothing. */
  constructor(of, most = of.maxTries) {
    this.#of = of;
    this.#most = most;
  }
  /** What was tried has led somewhere. */
  reset() {
    this.#failed = 0;
  }
  /**
   * Waits before the next try.
   *
   * @throws The error, where it does not pass or there were too many.
   */
  async after(error, signal) {
    const { clock, random } = this.#of;
    const tries = ++this.#failed;
    const wait = waitOf(error);
    if (wait === null || tries >= this.#most || wait > MAX_WAIT_MS) {
      const { code, message, status, fields, cause } = error;
      throw tries === 1 ? error : new ClientError(code, message, {
        status,
        fields,
        cause,
        tries
      });
    }
    const backoff = Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** (tries - 1));
    await clock.sleep(wait + backoff * (0.5 + random() / 2), signal);
  }
};
function waitOf({ code, status, fields }) {
  if (code === "network" || code === "stalled") return 0;
  if (!PASSING.has(status)) return null;
  const { retryAfterMs } = fields;
  return typeof retryAfterMs === "number" ? retryAfterMs : 0;
}

var MAX_PROBLEM = 1024 * 1024;
var MS = number("milliseconds, over 0", {
  least: Number.MIN_VALUE
});
var RULES = {
  url: rule("the address of the service", (value) => value instanceof URL || typeof value === "string" && value !== ""),
  apiKey: secret(text),
  headers: secret(orFunction(byName("headers by name", secret(text)))),
  fetch: aFunction,
  clock: aClock,
  random: aFunction,
  maxTries: whole("a whole number of tries, 1 or more", {
    least: 1
  }),
  stallMs: MS,
  timeoutMs: MS
};
var rules = optionsOf(RULES, [
  "url"
]);
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
var Transport = class {
  clock;
  maxTries;
  random;
  #url;
  /** Where that is, in words, without what a URL may hold of secrets. */
  #place;
  #fetch;
  #headers;
  #own;
  #stallMs;
  #timeoutMs;
  /** Makes it; throws a TypeError for an option that is unknown, missing or of the wrong kind. */
  constructor(options) {
    requireOptions("make the client", options, rules);
    this.#url = String(options.url).replace(/\/+$/, "");
    this.#place = URL.canParse(this.#url) ? ` to ${new URL(this.#url).origin}` : "";
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#headers = options.headers ?? {};
    this.#own = options.apiKey === void 0 ? {} : {
      authorization: `Bearer ${options.apiKey}`
    };
    this.clock = options.clock ?? systemClock;
    this.random = options.random ?? Math.random;
    this.maxTries = Math.max(1, options.maxTries ?? 8);
    this.#stallMs = options.stallMs ?? 3e4;
    this.#timeoutMs = options.timeoutMs ?? 6e4;
  }
  /** How a body is read. */
  reading(signal) {
    return {
      clock: this.clock,
      stallMs: this.#stallMs,
      signal
    };
  }
  /**
   * Asks once.
   *
   * @returns A response with a status below 300; its body is still to be read.
   * @throws ClientError for anything else; the reason of the signal.
   */
  async ask(path, { method = "GET", body, headers = {}, signal } = {}) {
    signal?.throwIfAborted();
    const more = typeof this.#headers === "function" ? await this.#headers() : this.#headers;
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, {
      once: true
    });
    const begun = new AbortController();
    this.clock.sleep(this.#timeoutMs, begun.signal).then(() => stop.abort(new ClientError("stalled", `Cannot ${method} ${path}: no answer in ${this.#timeoutMs} ms`)), () => {
    });
    let response;
    try {
      response = await this.#fetch(`${this.#url}${path}`, {
        method,
        headers: {
          ...this.#own,
          ...more,
          ...body === void 0 ? {} : {
            "content-type": "application/json"
          },
          ...headers
        },
        ...body === void 0 ? {} : {
          body: JSON.stringify(body)
        },
        signal: stop.signal
      });
    } catch (cause) {
      if (stop.signal.aborted) throw stop.signal.reason;
      throw new ClientError("network", `Cannot ${method} ${path}: found no connection${this.#place}, or it broke off; wanted a service that answers there`, {
        cause
      });
    } finally {
      begun.abort();
      signal?.removeEventListener("abort", onAbort);
    }
    if (response.ok) return response;
    throw await this.#errorOf(response, {
      action: `${method} ${path}`,
      signal
    });
  }
  /** Asks, and again where that may help. */
  try(path, asked = {}) {
    return this.again(asked, () => this.ask(path, asked));
  }
  /**
   * Asks for one JSON value, and again where that may help.
   *
   * @throws ClientError; the reason of the signal.
   */
  json(path, asked = {}) {
    return this.again(asked, async () => {
      const response = await this.ask(path, asked);
      return this.#parse(await wholeText(response, this.reading(asked.signal)), response.status);
    });
  }
  /** Does something that asks once, and again where that may help. */
  async again({ maxTries, signal }, once) {
    const tries = new Tries(this, maxTries);
    for (; ; ) {
      try {
        return await once();
      } catch (error) {
        if (!(error instanceof ClientError)) throw error;
        await tries.after(error, signal);
      }
    }
  }
  #parse(text2, status) {
    try {
      return text2 === "" ? null : JSON.parse(text2);
    } catch (cause) {
      const found = JSON.stringify(text2.slice(0, 80));
      throw new ClientError("bad_answer", `Cannot read the answer: found ${found}, wanted JSON`, {
        cause,
        status
      });
    }
  }
  async #errorOf(response, { action, signal }) {
    const { status, headers } = response;
    const text2 = await startOfText(response, {
      ...this.reading(signal),
      maxLength: MAX_PROBLEM
    });
    const wait = retryAfter(headers.get("retry-after"), this.clock.now());
    const waits = wait === null ? {} : {
      retryAfterMs: wait
    };
    let problem = null;
    try {
      problem = JSON.parse(text2);
    } catch {
    }
    if (typeof problem === "object" && problem !== null && "code" in problem) {
      const { type: _type, title: _title, status: _status, code, detail, ...fields } = problem;
      return new ClientError(String(code), String(detail ?? code), {
        status,
        fields: {
          ...fields,
          ...waits
        }
      });
    }
    return new ClientError("bad_answer", `Cannot ${action}: found status ${status} and no problem document`, {
      status,
      fields: waits
    });
  }
};
function retryAfter(value, now) {
  if (value === null || value.trim() === "") return null;
  if (/^\d+(?:\.\d+)?$/.test(value.trim())) return Number(value) * 1e3;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

var ClientSessions = class {
  #transport;
  /** Makes it; `createClient()` does. */
  constructor(transport) {
    this.#transport = transport;
  }
  /** A page of them, the newest first; `after` is what the page before gave as `next`. */
  list({ limit, after, signal } = {}) {
    return this.#transport.json(`/v1/sessions${queryOf({
      limit,
      after
    })}`, {
      signal
    });
  }
  /** What there is of one: entries, view, branches, the turn that runs or waits. */
  get(session) {
    return this.#transport.json(pathOf(session));
  }
  /** A page of its log: every original, from the entry `from` on. */
  messages(session, { from, branch } = {}) {
    return this.#transport.json(`${pathOf(session)}/messages${queryOf({
      from,
      branch
    })}`);
  }
  /**
   * One original.
   *
   * @param session The session.
   * @param options Its ref, `e41` for an entry, `e41.0` for a call with its result, `e3..e17` for a range, which wants
   *   a part of its text or a search.
   */
  entry(session, { ref, ...query }) {
    return this.#transport.json(`${pathOf(session)}/entries/${encodeURIComponent(ref)}${queryOf({
      ...query
    })}`);
  }
  /** What the model is shown: every atom, the legal cuts, the summary, the meter. */
  context(session) {
    return this.#transport.json(`${pathOf(session)}/context`);
  }
  /** All of it, line by line: what there is, each entry, the views. */
  async *export(session, { signal } = {}) {
    const response = await this.#transport.try(`${pathOf(session)}/export`, {
      signal
    });
    let rest = "";
    for await (const text2 of readText(response, this.#transport.reading(signal))) {
      const lines = (rest + text2).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line);
    }
    if (rest === "") return;
    throw new ClientError("network", "Cannot read the export: it broke off in the middle of a line");
  }
  /** Compacts it between two turns; with `dryRun` it only says what would come of that. */
  compact(session, { signal, ...asked } = {}) {
    const headers = {
      "idempotency-key": newKey()
    };
    return this.#transport.json(`${pathOf(session)}/compact`, {
      method: "POST",
      body: asked,
      headers,
      signal
    });
  }
  /** What stays verbatim in it through compactions. */
  pins(session) {
    return this.#transport.json(`${pathOf(session)}/pins`);
  }
  /** Pins a message of the user (`e3`) or a call with its result (`e41.0`), or lets it go. */
  pin(session, { ref, pinned = true }) {
    return this.#transport.json(`${pathOf(session)}/pins`, {
      method: "POST",
      body: {
        ref,
        pinned
      }
    });
  }
  /** Ends what runs in it and deletes it. */
  async delete(session) {
    try {
      await this.#transport.json(pathOf(session), {
        method: "DELETE"
      });
    } catch (error) {
      if (error instanceof ClientError && error.code === "session_not_found" && error.tries > 1) return;
      throw error;
    }
  }
};
function pathOf(session) {
  return `/v1/sessions/${encodeURIComponent(session)}`;
}
function queryOf(values) {
  const set = Object.entries(values).flatMap(([name, value]) => value === void 0 ? [] : [
    [
      name,
      String(value)
    ]
  ]);
  return set.length === 0 ? "" : `?${new URLSearchParams(set)}`;
}

function turnBodyOf(request) {
  const { tools = {}, approve: _approve, signal: _signal, idempotencyKey: _key, ...body } = request;
  const brought = Object.entries(tools).flatMap(([name, tool]) => typeof tool === "function" ? [] : [
    {
      name,
      description: tool.description,
      inputSchema: tool.inputSchema
    }
  ]);
  const clientTools = [
    ...request.clientTools ?? [],
    ...brought
  ];
  return {
    ...body,
    onDisconnect: request.onDisconnect ?? "continue",
    ...clientTools.length === 0 ? {} : {
      clientTools
    },
    stream: true
  };
}
async function answersFor(pending, { tools = {}, approve, signal }) {
  const results = [];
  const approvals = [];
  for (const call of pending) {
    const { ref, name, reason } = call;
    if (reason === "approval") {
      if (approve !== void 0) approvals.push(approvalOf(ref, () => approve({
        ...call,
        signal
      })));
      continue;
    }
    const tool = Object.hasOwn(tools, name) ? tools[name] : void 0;
    if (tool === void 0) continue;
    const execute = typeof tool === "function" ? tool : tool.execute;
    results.push(resultOf(ref, () => execute(call.input, {
      ...call,
      signal
    })));
  }
  if (results.length + approvals.length === 0) return null;
  const all = {
    results: await Promise.all(results),
    approvals: await Promise.all(approvals)
  };
  signal.throwIfAborted();
  return all;
}
async function resultOf(ref, run) {
  try {
    const output = await run();
    if (JSON.stringify(output ?? null) === void 0) throw new TypeError("the tool gave no JSON value");
    return {
      ref,
      output: output ?? null
    };
  } catch (error) {
    return {
      ref,
      error: error instanceof Error ? error.message : String(error)
    };
  }
}
async function approvalOf(ref, decide) {
  const decided = await decide();
  return typeof decided === "boolean" ? {
    ref,
    approved: decided
  } : {
    ref,
    approved: decided.approved,
    ...decided.reason === void 0 ? {} : {
      reason: decided.reason
    }
  };
}

var EarlyCancel = class {
  #never = new AbortController();
  #named = Promise.resolve(null);
  /** Aborts once it is certain that the turn does not begin. */
  get never() {
    return this.#never.signal;
  }
  /** The turn, once the cancel that is under way has found it; null for none. Rejects where that fails. */
  get named() {
    return this.#named;
  }
  /** Asks for the end of the turn. Throws like `Transport.json()`. */
  async ask(transport, key) {
    const asked = transport.json("/v1/turns/cancel", {
      method: "POST",
      headers: {
        "idempotency-key": key
      }
    });
    this.#named = asked.then(({ turn }) => turn);
    this.#named.catch(() => {
    });
    const found = await asked;
    if (found.turn === null) this.#never.abort(new DOMException("The turn was cancelled", "AbortError"));
    return found;
  }
};

var LINE_END = /\r\n|\n|\r/g;
var MAX_CHARS = 64 * 1024 * 1024;
var SseParser = class {
  /** What came of the line that has no end yet, in pieces. */
  #rest = [];
  #held = 0;
  #isFirst = true;
  /** The text before ended with CR: an LF at the beginning of the next one belongs to it. */
  #hasCr = false;
  #id = "";
  #event = "";
  #data = [];
  /**
   * Takes text.
   *
   * @param text What came next, of any length.
   * @returns The events that are whole now.
   * @throws ClientError `bad_answer` when one event has more than 64 Mi characters.
   */
  push(text2) {
    const events = [];
    let from = 0;
    if (text2 === "") return events;
    if (this.#hasCr && text2.startsWith("\n")) from = 1;
    this.#hasCr = text2.endsWith("\r");
    LINE_END.lastIndex = from;
    for (let end = LINE_END.exec(text2); end !== null; end = LINE_END.exec(text2)) {
      this.#rest.push(text2.slice(from, end.index));
      from = LINE_END.lastIndex;
      const line = this.#rest.length === 1 ? this.#rest[0] ?? "" : this.#rest.join("");
      this.#rest = [];
      this.#take(line, events);
    }
    if (from < text2.length) {
      this.#rest.push(text2.slice(from));
      this.#hold(text2.length - from);
    }
    return events;
  }
  #hold(chars) {
    this.#held += chars;
    if (this.#held > MAX_CHARS) {
      throw new ClientError("bad_answer", `Cannot read the stream: found an event of over ${MAX_CHARS} characters, wanted less`);
    }
  }
  #take(found, events) {
    const line = this.#isFirst ? found.replace(/^\ufeff/, "") : found;
    this.#isFirst = false;
    if (line === "") {
      if (this.#data.length > 0) {
        events.push({
          id: this.#id,
          event: this.#event,
          data: this.#data.join("\n")
        });
      }
      this.#event = "";
      this.#data = [];
      this.#held = 0;
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") {
      this.#hold(value.length);
      this.#data.push(value);
    } else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }
};

async function* readEvents(response, { after, ...reading }) {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    await response.body?.cancel();
    throw new ClientError("bad_answer", `Cannot read the turn: found ${type || "no type"}, wanted a stream`, {
      status: response.status
    });
  }
  const parser = new SseParser();
  let last = after;
  for await (const text2 of readText(response, reading)) {
    for (const { id, event, data } of parser.push(text2)) {
      if (!isAfter(id, last)) continue;
      if (id !== "") last = id;
      yield {
        ...bodyOf(data),
        type: event,
        id
      };
    }
  }
}
function requireBegun(event) {
  if (event.type !== "error" || event.id !== "" || !event.retryable) return;
  throw new ClientError(event.code, event.message, {
    status: 503,
    fields: {
      retryable: true
    }
  });
}
function isAfter(id, last) {
  const [, turn, number2] = id.match(/^(.*):(\d+)$/s) ?? [];
  if (turn === void 0) return true;
  const [, lastTurn, seen] = last?.match(/^(.*):(\d+)$/s) ?? [];
  return turn !== lastTurn || Number(number2) > Number(seen);
}
function bodyOf(data) {
  try {
    const body = JSON.parse(data);
    if (typeof body === "object" && body !== null) return body;
  } catch {
  }
  throw new ClientError("bad_answer", `Cannot read the turn: found the event ${JSON.stringify(data.slice(0, 80))}, wanted a JSON object`);
}

var SeenTurn = class {
  /** Id of the turn; null before it is known. */
  id;
  /** The session; empty before `turn.started` was seen. */
  session = "";
  /** Id of the last event. */
  last;
  /** The end that was seen, or the pause; null again once the turn is known to go on. */
  end = null;
  #text = "";
  #error = null;
  /** Makes it; of a turn that was started elsewhere id and last event are known. */
  constructor({ id = null, last = null } = {}) {
    this.id = id;
    this.last = last;
  }
  /** The calls that wait, once `turn.paused` was seen. */
  get pending() {
    return this.end?.type === "turn.paused" ? this.end.pending : [];
  }
  /** Takes note of the next event. */
  take(event) {
    if (event.id !== "") this.last = event.id;
    this.end = null;
    switch (event.type) {
      case "turn.started":
        this.session = event.session;
        break;
      case "step.started":
        this.#text = "";
        break;
      case "text.delta":
        this.#text += event.text;
        break;
      case "error":
        this.#error = event;
        break;
      case "turn.paused":
      case "turn.finished":
        this.end = event;
        break;
    }
  }
  /**
   * What the turn came to, where its end or a pause was seen.
   *
   * @throws ClientError where it ended with an error, or has not begun.
   */
  result() {
    const { end, pending } = this;
    if (end === null) throw new ClientError("turn_aborted", "The turn was cancelled before it had begun");
    const { usage, steps } = end;
    const reason = end.type === "turn.paused" ? "paused" : end.reason;
    const place = {
      turn: this.id ?? "",
      session: this.session
    };
    if (reason === "error") {
      const { code, message, retryable } = this.#error ?? {
        code: "internal",
        message: "The turn failed",
        retryable: false
      };
      throw new ClientError(code, message, {
        fields: {
          ...place,
          retryable,
          usage,
          steps
        }
      });
    }
    return {
      ...place,
      text: this.#text,
      reason,
      steps,
      usage,
      pending
    };
  }
};

var KeptStream = class {
  #response = null;
  #unhear = () => {
  };
  /** Keeps a stream in place of what was kept; the signal lets it go. */
  async keep(response, signal) {
    await this.drop();
    this.#response = response;
    const onAbort = () => void this.drop();
    signal?.addEventListener("abort", onAbort, {
      once: true
    });
    this.#unhear = () => signal?.removeEventListener("abort", onAbort);
    if (signal?.aborted) await this.drop();
  }
  /** Gives the stream to who reads it; null where there is none. */
  take() {
    const response = this.#response;
    this.#unhear();
    this.#response = null;
    return response;
  }
  /** Lets it go, where there is one. */
  async drop() {
    await this.take()?.body?.cancel().catch(() => {
    });
  }
};

var STREAM = {
  accept: "text/event-stream"
};
function goesOnAlone(start) {
  return !("turn" in start) && start.request.onDisconnect !== "abort";
}
async function askForTurn(transport, { request, key, signal }) {
  return await transport.ask("/v1/turns", {
    method: "POST",
    body: turnBodyOf(request),
    headers: {
      ...STREAM,
      "idempotency-key": key
    },
    signal
  });
}

var NAME_MS = 5e3;
var ClientTurn = class {
  #transport;
  #start;
  #key;
  #seen;
  #isCancelled = false;
  #isRead = false;
  /** Whether a try of its start was not refused: it may run then, with an answer or without. */
  #mayRun = false;
  #early = new EarlyCancel();
  /** Whether answers were taken for the pause that was seen, and the stream that goes on with them. */
  #goesOn = false;
  #next = new KeptStream();
  /** Makes it; `createClient()` does. */
  constructor(transport, start) {
    this.#transport = transport;
    this.#start = start;
    this.#key = "turn" in start ? "" : start.request.idempotencyKey ?? newKey();
    this.#seen = new SeenTurn("turn" in start ? {
      id: start.turn,
      last: start.after ?? null
    } : {});
  }
  /** Id of the turn; null before its first event. */
  get id() {
    return this.#seen.id;
  }
  /** The session; empty before `turn.started` was seen. */
  get session() {
    return this.#seen.session;
  }
  /** Id of the last event that was seen: `client.follow()` goes on behind it. */
  get lastEventId() {
    return this.#seen.last;
  }
  /** The calls that wait, once `turn.paused` was seen. */
  get pending() {
    return this.#seen.pending;
  }
  /**
   * The events, from behind the last one that was seen. Left early, the turn is cancelled, unless it waits for answers,
   * `onDisconnect: "continue"` was asked for, or it was started elsewhere.
   *
   * @throws TypeError where they are being read already; ClientError where the turn cannot be started, or found any
   *   more; the reason of the signal.
   */
  async *[Symbol.asyncIterator]() {
    if (this.#isRead) throw new TypeError("Cannot read the events of the turn: they are being read already");
    this.#isRead = true;
    const left = new AbortController();
    const { signal } = this.#start.request;
    const onAbort = () => left.abort(signal?.reason);
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, {
      once: true
    });
    let isLeft = true;
    try {
      while (!this.#isCancelled || this.#seen.id !== null) {
        if (this.#seen.end === null || this.#goesOn) yield* this.#connected(left.signal);
        if (this.#goesOn) continue;
        const answers = await answersFor(this.pending, {
          ...this.#start.request,
          signal: left.signal
        });
        if (answers === null) break;
        await this.answer(answers);
      }
      isLeft = false;
    } catch (error) {
      isLeft = left.signal.aborted;
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
      left.abort(new DOMException("The events were left", "AbortError"));
      this.#isRead = false;
      if (goesOnAlone(this.#start)) await this.#next.drop();
      if (isLeft && (signal?.aborted || this.#seen.end === null)) await this.#leave();
    }
  }
  /**
   * Reads the events to the end of the turn, or to where it waits, and says what it came to.
   *
   * @throws ClientError where the turn ended with an error, or as the events do.
   */
  async result() {
    if (this.#seen.end?.type !== "turn.finished") {
      for await (const _4 of this) {
      }
    }
    return this.#seen.result();
  }
  /**
   * Ends the turn, wherever it runs, and waits until what it did is stored. One that was never asked for, was refused,
   * or waits for its session does not begin; one whose start got no answer is ended by its key.
   *
   * @returns Whether it ended by that.
   * @throws ClientError.
   */
  async cancel() {
    this.#isCancelled = true;
    if (this.#seen.id === null) {
      if (!this.#mayRun) return true;
      const { turn, cancelled } = await this.#early.ask(this.#transport, this.#key);
      this.#seen.id ??= turn;
      return cancelled;
    }
    return await this.#cancel();
  }
  /**
   * Answers calls that wait. Within a `for await`, at `turn.paused`, the loop goes on with the turn; behind one, the
   * next does. Where nobody reads on, the turn goes on by itself, and no connection is kept for it; one that was asked
   * for with `onDisconnect: "abort"`, or started elsewhere, keeps its own until it is read, cancelled, or its signal
   * aborts: without that it might end.
   *
   * @throws ClientError; `call_not_pending` and `turn_not_paused` where somebody else was first.
   */
  async answer({ results = [], approvals = [] }) {
    const taken = await this.#transport.try(`${this.#path}/results`, {
      method: "POST",
      body: {
        results,
        approvals,
        stream: true
      },
      headers: {
        ...STREAM,
        "idempotency-key": newKey()
      },
      signal: this.#start.request.signal
    });
    const isPart = this.#goesOn;
    this.#goesOn = true;
    await this.#next.keep(taken, this.#start.request.signal);
    if (isPart || !this.#isRead && goesOnAlone(this.#start)) await this.#next.drop();
  }
  /**
   * Says something to the turn while it runs: it enters at the next step.
   *
   * @throws ClientError; `turn_over` where it came too late.
   */
  async send(input) {
    await this.#transport.json(`${this.#path}/messages`, {
      method: "POST",
      body: {
        input
      },
      headers: {
        "idempotency-key": newKey()
      },
      signal: this.#start.request.signal
    });
  }
  /** What it is started with; one that was started elsewhere has its id. */
  get #asked() {
    return {
      request: this.#start.request,
      key: this.#key
    };
  }
  get #path() {
    if (this.#seen.id !== null) return `/v1/turns/${encodeURIComponent(this.#seen.id)}`;
    throw new TypeError("Cannot reach the turn: it has not begun, wanted its events to be read first");
  }
  async #cancel(maxTries) {
    const asked = {
      method: "POST",
      ...maxTries === void 0 ? {} : {
        maxTries
      }
    };
    const answer = this.#transport.json(`${this.#path}/cancel`, asked);
    return (await answer.finally(() => this.#next.drop())).cancelled;
  }
  /** Cancels a turn whose reader has gone on purpose. */
  async #leave() {
    if ("turn" in this.#start || this.#seen.id === null) return;
    if (this.#start.request.onDisconnect === "continue" || this.#seen.end?.type === "turn.finished") return;
    try {
      await this.#cancel(3);
    } catch (error) {
      if (!(error instanceof ClientError && error.status === 404)) throw error;
    }
  }
  /** Events up to an end or a pause, over as many connections as it takes. */
  async *#connected(left) {
    const tries = new Tries(this.#transport);
    const over = new AbortController();
    const hard = new AbortController();
    const onLeft = () => {
      if (this.#isNamed) return hard.abort(left.reason);
      this.#transport.clock.sleep(NAME_MS, over.signal).then(() => hard.abort(left.reason), () => {
      });
    };
    const { never } = this.#early;
    left.throwIfAborted();
    left.addEventListener("abort", onLeft, {
      once: true
    });
    try {
      for (; ; ) {
        if (this.#isCancelled) this.#seen.id ??= await this.#early.named;
        if (this.#isCancelled && this.#seen.id === null) return;
        try {
          for await (const event of this.#read(AbortSignal.any([
            hard.signal,
            never
          ]))) {
            requireBegun(event);
            tries.reset();
            if (event.type === "turn.started") this.#seen.id = event.turn;
            left.throwIfAborted();
            this.#seen.take(event);
            yield event;
            if (event.type === "turn.finished" || this.#goesOn) return;
          }
          if (this.#seen.end !== null) return;
          throw new ClientError("network", "Cannot read the turn: its stream ended before the turn did");
        } catch (error) {
          if (never.aborted) return;
          if (!(error instanceof ClientError)) throw error;
          if (error.code === "stream_lost" && this.#seen.end !== null) return;
          await tries.after(error, AbortSignal.any([
            left,
            never
          ])).catch((error2) => {
            if (!never.aborted) throw error2;
          });
        }
      }
    } finally {
      over.abort();
      left.removeEventListener("abort", onLeft);
    }
  }
  /** Whether it can be cancelled by name, or goes by its connection: else it gets a moment to say what it is called. */
  get #isNamed() {
    if (this.#seen.id !== null || "turn" in this.#start) return true;
    const { onDisconnect, whenBusy } = this.#start.request;
    return onDisconnect !== void 0 || whenBusy === "enqueue";
  }
  /** Events of the stream that comes next, those that were not seen before. */
  async *#read(signal) {
    const response = await this.#open(signal);
    yield* readEvents(response, {
      ...this.#transport.reading(signal),
      after: this.#seen.last
    });
  }
  /** The stream that comes next. */
  async #open(signal) {
    if (this.#goesOn) {
      const next = this.#next.take();
      this.#goesOn = false;
      this.#seen.end = null;
      if (next !== null) return next;
    }
    if (this.#seen.id === null) {
      const mayRun = this.#mayRun;
      this.#mayRun = true;
      return await askForTurn(this.#transport, {
        ...this.#asked,
        signal
      }).catch((error) => {
        if (isRefusal(error)) this.#mayRun = mayRun;
        throw error;
      });
    }
    const { last } = this.#seen;
    const response = await this.#transport.ask(`${this.#path}/events`, {
      headers: last === null ? STREAM : {
        ...STREAM,
        "last-event-id": last
      },
      signal
    });
    if (response.status !== 204) return response;
    await response.body?.cancel();
    throw new ClientError("stream_lost", "Cannot go on with the turn: the service has no more of its events, and the last one seen is no end", {
      status: 204,
      fields: {
        turn: this.#seen.id,
        last
      }
    });
  }
};

function createClient(options) {
  const transport = new Transport(options);
  const post = (path, body) => transport.json(path, {
    method: "POST",
    body
  });
  return {
    sessions: new ClientSessions(transport),
    turn: (request) => new ClientTurn(transport, {
      request
    }),
    follow: (turn, { after, ...request } = {}) => new ClientTurn(transport, {
      turn,
      request,
      ...after === void 0 ? {} : {
        after
      }
    }),
    request: (turn, { step, session }) => transport.json(`/v1/turns/${encodeURIComponent(turn)}/steps/${step}/request${queryOf({
      session
    })}`),
    check: (transcript) => post("/v1/check", transcript),
    repair: (transcript) => post("/v1/repair", transcript),
    compact: (transcript) => post("/v1/compact", transcript)
  };
}

var SERVICE = new URL("..", import.meta.url).href.replace(/\/$/, "");
function connect(onAway) {
  let key = null;
  let isAway = false;
  const tell = (now) => {
    if (now === isAway) return;
    isAway = now;
    onAway(now);
  };
  const headers = () => key === null ? {} : {
    authorization: `Bearer ${key}`
  };
  const ask = async (url, init) => {
    let response;
    try {
      response = await fetch(url, init);
    } catch (error) {
      if (init.signal?.aborted !== true) tell(true);
      throw error;
    }
    tell(response.status === 502 || response.status === 504);
    return response;
  };
  const client = createClient({
    url: SERVICE,
    headers,
    fetch: ask
  });
  return {
    client,
    use: (given) => key = given,
    async agents() {
      const response = await ask(`${SERVICE}/v1/models`, {
        headers: headers()
      });
      if (response.status === 401) {
        throw new ClientError("unauthorized", "The service wants a key", {
          status: 401
        });
      }
      if (!response.ok) return [];
      const { data } = await response.json();
      return data.map(({ id }) => id);
    }
  };
}

function grouped(number2) {
  return Math.round(number2).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}
function plural(number2, noun) {
  return `${grouped(number2)} ${noun}${number2 === 1 ? "" : "s"}`;
}

var BLOCK_WIDTH = 9;
var KIND_NAMES = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  summary: "Summary",
  stray: "Stray result"
};
function kindOf(atoms) {
  if (atoms.some(({ kind }) => kind === "stray")) return "stray";
  if (atoms.some(({ kind }) => kind === "summary")) return "summary";
  const sums = /* @__PURE__ */ new Map();
  for (const { kind, tokens } of atoms) sums.set(kind, (sums.get(kind) ?? 0) + tokens);
  return [
    ...sums
  ].toSorted((a3, b) => b[1] - a3[1])[0]?.[0] ?? "assistant";
}
function markOf(atoms) {
  const marks = new Set(atoms.map(({ mark: mark2 }) => mark2 ?? null));
  if (marks.has("pinned")) return "pinned";
  const [mark = null] = marks;
  return marks.size === 1 ? mark : null;
}
function blocksOf(atoms, { first, end, room, faults }) {
  const perBlock = Math.max(1, Math.ceil((end - first) / Math.max(1, room)));
  const marks = faults.toSorted((a3, b) => a3 - b);
  let mark = 0;
  const blocks = [];
  for (let at2 = first; at2 < end; at2 += perBlock) {
    const own = atoms.slice(at2, Math.min(end, at2 + perBlock));
    const from = own[0]?.from ?? 0;
    const to = own.at(-1)?.to ?? from;
    while ((marks[mark] ?? Infinity) < from) mark++;
    const before = mark;
    while ((marks[mark] ?? Infinity) < to) mark++;
    blocks.push({
      first: at2,
      end: at2 + own.length,
      kind: kindOf(own),
      isOpen: own.some(({ state: state2 }) => state2 === "open"),
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      faults: mark - before,
      from,
      mark: markOf(own)
    });
  }
  return blocks;
}
function sayBlock({ first, end, kind, isOpen, tokens, faults, from }, hasCut) {
  const what = end - first === 1 ? `${KIND_NAMES[kind]}, from message ${from}` : `${plural(end - first, "atom")}, from message ${from}; Enter opens them`;
  const words = [
    what,
    `about ${plural(tokens, "token")}`,
    ...isOpen ? [
      "open: a call has no result yet"
    ] : [],
    ...faults > 0 ? [
      plural(faults, "violation")
    ] : [],
    hasCut ? "a legal cut in front of it" : "no legal cut in front of it"
  ];
  return words.join(", ");
}
function isGone({ from, mark }, cutAt) {
  return cutAt !== null && from >= 0 && from < cutAt && mark !== "pinned";
}
function Strip({ label, atoms, first, end, cuts, faults, chosen, cutAt, onChoose, blockWidth = BLOCK_WIDTH, say = sayBlock }) {
  const bar = T2(null);
  const [room, setRoom] = d2(100);
  const [focused, setFocused] = d2(0);
  const [tip, setTip] = d2(null);
  A2(() => {
    const { current } = bar;
    if (current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      setRoom(Math.max(1, Math.floor((entry?.contentRect.width ?? 900) / blockWidth)));
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const blocks = blocksOf(atoms, {
    first,
    end,
    room,
    faults
  });
  const perBlock = (blocks[0]?.end ?? 0) - (blocks[0]?.first ?? 0);
  const hint = perBlock > 1 ? `A block here stands for ${grouped(perBlock)} atoms: choose one to open it.` : "Point at a block, or go through them with the arrow keys; choose one to read it.";
  const reachable = Math.min(focused, blocks.length - 1);
  const move = (event, index) => {
    const last = blocks.length - 1;
    const to = {
      ArrowRight: Math.min(last, index + 1),
      ArrowLeft: Math.max(0, index - 1),
      Home: 0,
      End: last
    }[event.key];
    if (to === void 0) return;
    event.preventDefault();
    setFocused(to);
    bar.current?.children[to]?.focus();
  };
  return m2`
    <div class="strip">
      <div class="bar" role="toolbar" aria-label=${label} ref=${bar}>
        ${blocks.map((block, index) => {
    const hasCut = cuts.has(block.from);
    const said = say(block, hasCut);
    const isChosen = chosen !== null && chosen >= block.first && chosen < block.end;
    const classes = [
      "block",
      block.kind,
      ...block.isOpen ? [
        "open"
      ] : [],
      ...block.faults > 0 ? [
        "faulty"
      ] : [],
      ...block.mark === null ? [] : [
        block.mark
      ],
      ...hasCut ? [
        "cut"
      ] : [],
      ...isGone(block, cutAt) ? [
        "gone"
      ] : [],
      ...cutAt !== null && atoms[block.first]?.from === cutAt ? [
        "cut-here"
      ] : []
    ];
    return m2`
            <button type="button" key=${index} class=${classes.join(" ")} aria-label=${said}
              aria-pressed=${isChosen} tabindex=${index === reachable ? 0 : -1}
              style=${{
      flexGrow: Math.max(1, block.tokens)
    }}
              onClick=${() => {
      setFocused(index);
      onChoose(block);
    }}
              onKeyDown=${(event) => move(event, index)}
              onFocus=${() => setTip(said)} onBlur=${() => setTip(null)}
              onMouseEnter=${() => setTip(said)} onMouseLeave=${() => setTip(null)}></button>
          `;
  })}
      </div>
      <p class="tip" aria-hidden="true">${tip ?? hint}</p>
    </div>
  `;
}

var FIXED = -2;
var SUMMARY = -1;
function stripAtom({ from, to, kind, open, state: state2 }, tokens) {
  return {
    from,
    to,
    kind,
    state: open ? "open" : "closed",
    tokens,
    ...state2 === "raw" ? {} : {
      mark: state2
    }
  };
}
function windowAtoms({ atoms, meter, summary }) {
  const shown = atoms.filter(({ state: state2 }) => state2 !== "summarised");
  const counted = shown.reduce((sum, atom) => sum + atom.shown, summary?.tokens ?? 0);
  const fixed = Math.max(0, Math.round(meter.tokens - counted));
  return [
    {
      from: FIXED,
      to: FIXED + 1,
      kind: "system",
      state: "closed",
      tokens: fixed
    },
    ...summary === null ? [] : [
      {
        from: SUMMARY,
        to: 0,
        kind: "summary",
        state: "closed",
        tokens: summary.tokens
      }
    ],
    ...shown.map((atom) => stripAtom(atom, atom.shown))
  ];
}
function logAtoms({ atoms }) {
  return atoms.map((atom) => stripAtom(atom, atom.tokens));
}
var MARKS = {
  pinned: "pinned: it stays, word for word",
  shortened: "its result is shown shortened",
  summarised: "in the summary now; the original is kept"
};
function sayBlock2(block, hasCut, holds) {
  const { first, end, from, kind, tokens, isOpen, mark } = block;
  const size = `about ${plural(tokens, "token")}`;
  if (end - first === 1 && from === FIXED) return `Instructions and tools, ${size}: always there`;
  if (end - first === 1 && from === SUMMARY) return `Summary, ${size}; Enter opens it`;
  const held = end - first === 1 ? holds(from) : "";
  const words = [
    end - first === 1 ? `${KIND_NAMES[kind]}, e${from}` : `${plural(end - first, "atom")} from e${Math.max(0, from)} on; Enter opens them`,
    ...held === "" ? [] : [
      held
    ],
    size,
    ...isOpen ? [
      "open: a call has no result yet"
    ] : [],
    ...mark === null ? [] : [
      MARKS[mark]
    ],
    ...hasCut ? [
      "a legal cut in front of it"
    ] : []
  ];
  return words.join(", ");
}
function summaryLines(text2) {
  return text2.split("\n").filter((line) => line.trim() !== "").map((line) => {
    const [, ref, rest] = line.match(/^(e\d+(?:\.\d+|\.\.e\d+)?) (.*)$/) ?? [];
    return ref === void 0 ? {
      ref: null,
      text: line
    } : {
      ref,
      text: rest ?? ""
    };
  });
}
function sayMeter({ tokens, window, compactAt, stopAt }) {
  const percent = Math.round(tokens / window * 100);
  const share = percent === 0 ? "under 1" : percent;
  const next = tokens < compactAt ? `${grouped(Math.round(compactAt - tokens))} more until a compaction is due` : tokens < stopAt ? "a compaction is due" : "the model is not called before a compaction";
  return `${grouped(Math.round(tokens))} of ${grouped(window)} tokens (${share} %), ${next}`;
}

function sayValue2(value) {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
}
function sayOutput(output) {
  if (output.type === "execution-denied") return `Not allowed${output.reason ? `: ${output.reason}` : ""}`;
  return output.type === "content" ? sayContent(output.value) : sayValue2(output.value);
}
function sayContent(content) {
  if (typeof content === "string") return content;
  return content.map((part) => part.type === "text" ? part.text : `[file ${part.filename ?? part.mediaType}]`).join("\n");
}
function glance(text2, most) {
  const line = text2.replaceAll(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)} \u2026` : line;
}
var REASONS = {
  open_call: "a call is still open, and no cut may pass it",
  atom_too_wide: "one atom alone is larger than what may stay",
  pinned_too_big: "what must stay is larger than what may stay"
};
function sayReason(reason) {
  return REASONS[reason] ?? reason.replaceAll("_", " ");
}
function sayError(error) {
  return error instanceof Error ? error.message : String(error);
}

var PAGE = 6e3;
function Original({ client, session, reference }) {
  const [pages, setPages] = d2([]);
  const [problem, setProblem] = d2(null);
  const read = async (offset) => await client.sessions.entry(session, {
    ref: reference,
    offset,
    limit: PAGE
  });
  const more = (offset) => {
    read(offset).then((page) => setPages((before) => [
      ...before,
      page
    ]), (error) => setProblem(sayError(error)));
  };
  A2(() => {
    let isOver = false;
    setPages([]);
    setProblem(null);
    read(0).then((page) => {
      if (!isOver) setPages([
        page
      ]);
    }, (error) => {
      if (!isOver) setProblem(sayError(error));
    });
    return () => {
      isOver = true;
    };
  }, [
    session,
    reference
  ]);
  const last = pages.at(-1);
  const next = last?.next ?? null;
  return m2`<div class="original">
    ${problem !== null && m2`<p class="notice bad" role="alert">${problem}</p>`}
    ${pages.length === 0 && problem === null && m2`<p class="fine" role="status">Reading ${reference} …</p>`}
    ${pages.length > 0 && m2`<pre tabindex="0" aria-label=${`Original ${reference}`}>${pages.map(({ text: text2 }) => text2).join("")}</pre>`}
    ${next !== null && m2`<p><button type="button" onClick=${() => more(next)}>Read on (${grouped((last?.total ?? 0) - next)} characters left)</button></p>`}
  </div>`;
}

var FIRST_LINES = 60;
function Line({ line, client, session }) {
  const [isOpen, setOpen] = d2(false);
  const { ref, text: text2 } = line;
  if (ref === null) return m2`<li class="frame">${text2}</li>`;
  return m2`<li>
    <p class="ledger-line"><code class="ref">${ref}</code> <span>${text2}</span>
      <button type="button" aria-expanded=${isOpen} aria-label=${`${isOpen ? "Close" : "Recall"} ${ref}`} onClick=${() => setOpen(!isOpen)}>
        ${isOpen ? "Close" : "Recall"}</button></p>
    ${isOpen && m2`<${Original} client=${client} session=${session} reference=${ref} />`}
  </li>`;
}
function Ledger({ client, session, context: { summary } }) {
  const [isAll, setAll] = d2(false);
  const lines = summaryLines(summary?.text ?? "");
  const shown = isAll ? lines : lines.slice(0, FIRST_LINES);
  return m2`<p class="lead">The model reads this in place of what was cut away: one line for each call with its result,
      written by code. Nothing is lost: <b>Recall</b> brings any original back.</p>
    <ol class="ledger-lines">${shown.map((line, at2) => m2`<${Line} key=${line.ref ?? at2} line=${line} client=${client} session=${session} />`)}</ol>
    ${shown.length < lines.length && m2`<p><button type="button" onClick=${() => setAll(true)}>Show ${grouped(lines.length - shown.length)} more lines</button></p>`}`;
}
var STATES = {
  raw: "The model sees it as it is.",
  shortened: "The model sees a shortened result; this is the whole one.",
  pinned: "The model sees it word for word.",
  summarised: "Cut away: the model sees a line in the summary. This is the original."
};
var PINNED = {
  caller: "It is pinned, and stays through every compaction.",
  turn: "Nobody has pinned it: a message stays while its turn runs, and a later compaction may cut it away.",
  tool: "Its tool has asked for that.",
  released: "It is pinned no longer, and a later compaction may cut it away."
};
function Atom({ atom, client, session }) {
  const { from, to, tokens, shown, state: state2, open, pinnedBy } = atom;
  const reference = to - from === 1 ? `e${from}` : `e${from}..e${to - 1}`;
  return m2`
    <p class="lead">${STATES[state2]} ${pinnedBy === void 0 ? "" : PINNED[pinnedBy]} ${open ? "A call of it has no result yet, so no cut may pass it." : ""}</p>
    <p class="facts"><span><code>${reference}</code></span> <span>${plural(to - from, "message")}</span>
          <span>${plural(tokens, "token")}${shown === tokens ? "" : `, of which the model is shown ${grouped(shown)}`}</span></p>
    <${Original} client=${client} session=${session} reference=${reference} />
  `;
}
function Details(props) {
  const { chosen, context, onClose } = props;
  const atom = context.atoms.find(({ from }) => from === chosen);
  const isSummary = chosen === SUMMARY;
  if (!isSummary && atom === void 0) return null;
  const title = isSummary ? "The summary" : `${KIND_NAMES[atom?.kind ?? "assistant"]} e${chosen}`;
  return m2`<section class="card details" aria-label=${title}>
    <header><h3>${title}</h3><button type="button" onClick=${onClose}>Close</button></header>
    ${isSummary ? m2`<${Ledger} ...${props} />` : m2`<${Atom} key=${chosen} atom=${atom} ...${props} />`}
  </section>`;
}

var MARKS2 = [
  [
    "system",
    "instructions, tools"
  ],
  [
    "user",
    "you"
  ],
  [
    "assistant",
    "the agent, with its calls and results"
  ],
  [
    "summary",
    "summary of what was cut away"
  ],
  [
    "pinned",
    "pinned"
  ],
  [
    "shortened",
    "result shown shortened"
  ],
  [
    "summarised",
    "no longer shown"
  ],
  [
    "open",
    "open: a result is to come"
  ]
];
var CUTS = m2`<span>The cut falls on a tick, where no call is parted from its result; an open atom has none behind
  it. Over <b>stop</b> the model is not called.</span>`;
function Legend() {
  return m2`
    <div class="explained">
      <ul class="legend">
          ${MARKS2.map(([mark, name]) => m2`<li><span class=${`swatch ${mark}`}></span>${name}</li>`)}
          <li><span class="swatch tick"></span>legal cut</li>
        </ul>
      <p
        class="fine">A block is an <b>atom</b>: messages that stay together, such as an answer with its tool calls and
      their results. When the window fills up to <b>compact</b>, older atoms make room for one summary. ${CUTS}</p>
    </div>
  `;
}

function Log({ context, holds, chosen, onChoose }) {
  const [range, setRange] = d2(null);
  const atoms = logAtoms(context);
  const { first, end } = range ?? {
    first: 0,
    end: atoms.length
  };
  const choose = (block) => {
    if (block.end - block.first > 1) setRange(block);
    else onChoose(block.from);
  };
  const say = (block, hasCut) => sayBlock2(block, hasCut, holds);
  const at2 = atoms.findIndex(({ from }) => from === chosen);
  return m2`<section class="card log" aria-labelledby="log-title">
    <h2 id="log-title">What there is</h2>
    <p class="lead">The log keeps every original, also of what the model no longer sees.</p>
    ${range !== null && m2`<p class="crumbs"><button type="button" onClick=${() => setRange(null)}>Whole log</button>
      <span>atoms ${grouped(first + 1)} to ${grouped(end)} of ${grouped(atoms.length)}</span></p>`}
    <${Strip} label="The log, block by block" atoms=${atoms} first=${first} end=${end} cuts=${new Set(context.legalCuts)}
      faults=${[]} chosen=${at2 < 0 ? null : at2} cutAt=${null} say=${say} onChoose=${choose} />
  </section>`;
}

function G3() {
  return {
    async: false,
    breaks: false,
    extensions: null,
    gfm: true,
    hooks: null,
    pedantic: false,
    renderer: null,
    silent: false,
    tokenizer: null,
    walkTokens: null
  };
}
var S2 = G3();
function ue(l5) {
  S2 = l5;
}
var q2 = {
  exec: () => null
};
function D3(l5) {
  let e3 = [];
  return (t4) => {
    let n3 = Math.max(0, Math.min(3, t4 - 1)), r3 = e3[n3];
    return r3 || (r3 = l5(n3), e3[n3] = r3), r3;
  };
}
function g3(l5, e3 = "") {
  let t4 = typeof l5 == "string" ? l5 : l5.source, n3 = {
    replace: (r3, s3) => {
      let o3 = typeof s3 == "string" ? s3 : s3.source;
      return o3 = o3.replace(O.caret, "$1"), t4 = t4.replace(r3, o3), n3;
    },
    getRegex: () => new RegExp(t4, e3)
  };
  return n3;
}
var _e = ((l5 = "") => {
  try {
    return !!new RegExp("(?<=1)(?<!1)" + l5);
  } catch {
    return false;
  }
})();
var O = {
  codeRemoveIndent: /^(?: {0,3}\t| {1,4})/gm,
  listInterruptsParagraph: /^ {0,3}(?:[*+-]|1[.)])[ \t]+[^ \t\n]/,
  outputLinkReplace: /\\([\[\]])/g,
  indentCodeCompensation: /^(\s+)(?:```)/,
  beginningSpace: /^\s+/,
  endingHash: /#$/,
  startingSpaceChar: /^ /,
  endingSpaceChar: / $/,
  endingSpaceTabChar: /[ \t]$/,
  nonSpaceChar: /[^ ]/,
  newLineCharGlobal: /\n/g,
  tabCharGlobal: /\t/g,
  leadingSpaceTab: /^[ \t]+/,
  multipleSpaceGlobal: /\s+/g,
  blankLine: /^[ \t]*$/,
  doubleBlankLine: /\n[ \t]*\n[ \t]*$/,
  blockquoteStart: /^ {0,3}>/,
  blockquoteSetextReplace: /\n {0,3}((?:=+|-+)[ \t]*)(?=\n|$)/g,
  blockquoteSetextReplace2: /^ {0,3}>[ \t]?/gm,
  blockquoteMarkerWhitespace: /^( {0,3}>)(\t[ \t]*)/gm,
  nestedBlockMarker: /^ {0,3}(?:(?:[*+-]|\d{1,9}[.)])(?: |$)|> ?)/,
  listReplaceNesting: /^ {1,4}(?=( {4})*[^ ])/g,
  listIsTask: /^\[[ xX]\][ \t]+\S/,
  listReplaceTask: /^\[[ xX]\][ \t]+/,
  listTaskCheckbox: /\[[ xX]\]/,
  anyLine: /\n.*\n/,
  hrefBrackets: /^<(.*)>$/,
  tableDelimiter: /[:|]/,
  tableAlignChars: /^\||\| *$/g,
  tableRowBlankLine: /\n[ \t]*$/,
  tableAlignRight: /^ *-+: *$/,
  tableAlignCenter: /^ *:-+: *$/,
  tableAlignLeft: /^ *:-+ *$/,
  startATag: /^<a /i,
  endATag: /^<\/a>/i,
  startPreScriptTag: /^<(pre|code|kbd|script)(\s|>)/i,
  endPreScriptTag: /^<\/(pre|code|kbd|script)(\s|>)/i,
  startAngleBracket: /^</,
  endAngleBracket: />$/,
  pedanticHrefTitle: /^([^'"]*[^\s])\s+(['"])(.*)\2/,
  unicodeAlphaNumeric: /[\p{L}\p{N}]/u,
  numericCharacterReference: /&#(?:(\d{1,7})|[Xx]([A-Fa-f0-9]{1,6}));/,
  numericCharacterReferenceOrAmpersand: /&#(?:(\d{1,7})|[Xx]([A-Fa-f0-9]{1,6}));|&(?!(#\d{1,7}|#[Xx][a-fA-F0-9]{1,6}|\w+);)/g,
  escapeTest: /[&<>"']/,
  escapeReplace: /[&<>"']/g,
  escapeTestNoEncode: /[<>"']|&(?!(#\d{1,7}|#[Xx][a-fA-F0-9]{1,6}|\w+);)/,
  escapeReplaceNoEncode: /[<>"']|&(?!(#\d{1,7}|#[Xx][a-fA-F0-9]{1,6}|\w+);)/g,
  caret: /(^|[^\[])\^/g,
  percentDecode: /%25/g,
  findPipe: /\|/g,
  splitPipe: / \|/,
  slashPipe: /\\\|/g,
  carriageReturn: /\r\n|\r/g,
  spaceLine: /^ +$/gm,
  notSpaceStart: /^\S*/,
  endingNewline: /\n$/,
  listItemRegex: (l5) => new RegExp(`^( {0,3}${l5})((?:[	 ][^\\n]*)?(?:\\n|$))`),
  nextBulletRegex: D3((l5) => new RegExp(`^ {0,${l5}}(?:[*+-]|\\d{1,9}[.)])((?:[ 	][^\\n]*)?(?:\\n|$))`)),
  hrRegex: D3((l5) => new RegExp(`^ {0,${l5}}((?:-[ 	]*){3,}|(?:_[ 	]*){3,}|(?:\\*[ 	]*){3,})(?:\\n+|$)`)),
  fencesBeginRegex: D3((l5) => new RegExp(`^ {0,${l5}}(?:\`\`\`|~~~)`)),
  headingBeginRegex: D3((l5) => new RegExp(`^ {0,${l5}}#{1,6}(?:\\s|$)`)),
  pedanticHeadingBeginRegex: D3((l5) => new RegExp(`^ {0,${l5}}#`)),
  htmlBeginRegex: D3((l5) => new RegExp(`^ {0,${l5}}(?:</?(?:${he})(?:[ \\t]+|$|/?>)|<(?:(?:script|pre|style|textarea)(?:[\\s>]|$)|!--)|<\\?|<![A-Za-z]|<!\\[CDATA\\[)`, "i")),
  blockquoteBeginRegex: D3((l5) => new RegExp(`^ {0,${l5}}>`)),
  nestedContainerMarkers: /^(?: {0,3}(?:(?:[*+-]|\d{1,9}[.)])[ \t]+|>[ \t]?))+/
};
var Ge = /^(?:[ \t]*(?:\n|$))+/;
var Ne = /^((?: {4}| {0,3}\t)[^\n]+(?:\n(?:[ \t]*(?:\n|$))*)?)+/;
var Fe = /^ {0,3}(`{3,}(?=[^`\n]*(?:\n|$))|~{3,})([^\n]*)(?:\n|$)(?:|([\s\S]*?)(?:\n|$))(?: {0,3}(?:(?=`)\1`*|(?=~)\1~*) *(?=\n|$)|$)/;
var V2 = /^ {0,3}((?:-[\t ]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})(?:\n+|$)/;
var Qe = /^ {0,3}(#{1,6})(?=\s|$)(.*)(?:\n+|$)/;
var ce = / {0,3}(?:[*+-]|\d{1,9}[.)])/;
var he = "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|meta|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul";
var J2 = g3(" {0,3}(?:</?(?:tag)(?:[ \\t]+|\\n|/?>)|<(?:(?:script|pre|style|textarea)(?:[\\s>]|$)|!--)|<\\?|<![A-Za-z]|<!\\[CDATA\\[)").replace("tag", he).getRegex();
var $e = /^(?!bull |blockCode|fences|blockquote|heading|html|table)((?:.|\n(?!\s*?\n|bull |fences|blockquote|heading|hr|html|table))+?)\n {0,3}(=+|-+)[ \t]*(?:\n+|$)/;
var Le = g3($e).replace(/bull/g, ce).replace(/blockCode/g, /(?: {4}| {0,3}\t)/).replace(/fences/g, / {0,3}(?:`{3,}|~{3,})/).replace(/blockquote/g, / {0,3}>/).replace(/heading/g, / {0,3}#{1,6}(?:\s|$)/).replace(/hr/g, / {0,3}(?:(?:-[\t ]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})(?:\n+|$)/).replace(/\|table/g, "").replace(/html/g, J2).getRegex();
var We = g3($e).replace(/bull/g, ce).replace(/blockCode/g, /(?: {4}| {0,3}\t)/).replace(/fences/g, / {0,3}(?:`{3,}|~{3,})/).replace(/blockquote/g, / {0,3}>/).replace(/heading/g, / {0,3}#{1,6}(?:\s|$)/).replace(/hr/g, / {0,3}(?:(?:-[\t ]*){3,}|(?:_[ \t]*){3,}|(?:\*[ \t]*){3,})(?:\n+|$)/).replace(/table/g, / {0,3}\|?(?:[:\- ]*\|)+[\:\- ]*\n/).replace(/html/g, J2).getRegex();
var de = /^([^\n]+(?:\n(?!hr|heading|lheading|blockquote|fences|list|html|table|[ \t]+\n)[^\n]+)*)/;
var Ue = /^[^\n]+/;
var ge = /(?!\s*\])(?:\\[\s\S]|[^\[\]\\\n]|\n(?![ \t]*\n))+/;
var Ke = g3(/^ {0,3}\[(label)\]: *(?:\n[ \t]*)?([^<\s][^\s]*|<(?:\\.|[^\n<>\\])*>)(?:(?: +(?:\n[ \t]*)?| *\n[ \t]*)(title))? *(?:\n+|$)/).replace("label", ge).replace("title", /(?:"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\\n]|\n(?!\n))*'|\((?:\\[\s\S]|[^()\\])*\))/).getRegex();
var Xe = g3(/^(bull)([ \t][^\n]*?)?(?:\n|$)/).replace(/bull/g, ce).getRegex();
var ke = /<!--(?:-?>|[\s\S]*?(?:-->|$))/;
var Ve = g3("^ {0,3}(?:<(script|pre|style|textarea)[\\s>][\\s\\S]*?(?:</\\1>[^\\n]*\\n*|$)|comment[^\\n]*(\\n+|$)|<\\?[\\s\\S]*?(?:\\?>[^\\n]*\\n*|$)|<![A-Z][\\s\\S]*?(?:>[^\\n]*\\n*|$)|<!\\[CDATA\\[[\\s\\S]*?(?:\\]\\]>[^\\n]*\\n*|$)|</?(tag)(?:[ \\t]+|\\n|/?>|$)[\\s\\S]*?(?:(?:\\n[ 	]*)+\\n|$)|<(?!(?:script|pre|style|textarea)(?![a-z0-9-]))([a-z][a-z0-9-]*)(?:attribute)*?[ \\t]*/?>(?=[ \\t]*(?:\\n|$))[\\s\\S]*?(?:(?:\\n[ 	]*)+\\n|$)|</[a-z][a-z0-9-]*\\s*>(?=[ \\t]*(?:\\n|$))[\\s\\S]*?(?:(?:\\n[ 	]*)+\\n|$))", "i").replace("comment", ke).replace("tag", he).replace("attribute", /[ \t]+[a-zA-Z:_][\w.:-]*(?:[ \t]*=[ \t]*"[^"\n]*"|[ \t]*=[ \t]*'[^'\n]*'|[ \t]*=[ \t]*[^\s"'=<>`]+)?/).getRegex();
var Ce = (l5) => g3(de).replace("hr", V2).replace("heading", " {0,3}#{1,6}(?:\\s|$)").replace("|lheading", "").replace("|table", "").replace("blockquote", " {0,3}>").replace("fences", " {0,3}(?:`{3,}(?=[^`\\n]*(?:\\n|$))|~~~)[^\\n]*(?:\\n|$)").replace("list", l5).replace("html", J2).getRegex();
var Je = Ce(/ {0,3}(?:[*+-]|1[.)])[ \t]+[^ \t\n]/);
var Ye = Ce(/ {0,3}(?:[*+-]|\d{1,9}[.)])(?:[ \t]|\n|$)/);
var et = g3(/^( {0,3}> ?(?:(?![ \t]*(?:\n|$))(paragraph)|[^\n]*)(?:\n|$))+/).replace("paragraph", Ye).getRegex();
var fe = {
  blockquote: et,
  code: Ne,
  def: Ke,
  fences: Fe,
  heading: Qe,
  hr: V2,
  html: Ve,
  lheading: Le,
  list: Xe,
  newline: Ge,
  paragraph: Je,
  table: q2,
  text: Ue
};
var Pe = g3("^ *([^\\n ].*)\\n {0,3}((?:\\| *)?:?-+:? *(?:\\| *:?-+:? *)*(?:\\| *)?)(?:\\n((?:(?! *\\n|hr|heading|blockquote|code|fences|list|html).*(?:\\n|$))*)\\n*|$)").replace("hr", V2).replace("heading", " {0,3}#{1,6}(?:\\s|$)").replace("blockquote", " {0,3}>").replace("code", "(?: {4}| {0,3}	)[^\\n]").replace("fences", " {0,3}(?:`{3,}(?=[^`\\n]*(?:\\n|$))|~~~)[^\\n]*(?:\\n|$)").replace("list", " {0,3}(?:[*+-]|1[.)])[ \\t]").replace("html", J2).getRegex();
var tt = {
  ...fe,
  lheading: We,
  table: Pe,
  paragraph: g3(de).replace("hr", V2).replace("heading", " {0,3}#{1,6}(?:\\s|$)").replace("|lheading", "").replace("table", Pe).replace("blockquote", " {0,3}>").replace("fences", " {0,3}(?:`{3,}(?=[^`\\n]*(?:\\n|$))|~~~)[^\\n]*(?:\\n|$)").replace("list", " {0,3}(?:[*+-]|1[.)])[ \\t]+[^ \\t\\n]").replace("html", J2).getRegex()
};
var nt = {
  ...fe,
  html: g3(`^ *(?:comment(?: *\\n|\\s*$)|<(tag)[\\s\\S]+?</\\1>(?: *\\n{2,}|\\s*$)|<tag(?:"[^"]*"|'[^']*'|\\s[^'"/>\\s]*)*?/?>(?: *\\n{2,}|\\s*$))`).replace("comment", ke).replace(/tag/g, "(?!(?:a|em|strong|small|s|cite|q|dfn|abbr|data|time|code|var|samp|kbd|sub|sup|i|b|u|mark|ruby|rt|rp|bdi|bdo|span|br|wbr|ins|del|img)\\b)\\w+(?!:|[^\\w\\s@]*@)\\b").getRegex(),
  def: /^ *\[([^\]]+)\]: *<?([^\s>]+)>?(?: +(["(][^\n]+[")]))? *(?:\n+|$)/,
  heading: /^(#{1,6})(.*)(?:\n+|$)/,
  fences: q2,
  lheading: /^(.+?)\n {0,3}(=+|-+) *(?:\n+|$)/,
  paragraph: g3(de).replace("hr", V2).replace("heading", ` *#{1,6} *[^
]`).replace("|table", "").replace("blockquote", " {0,3}>").replace("|fences", "").replace("|list", "").replace("|html", "").replace("|tag", "").replace("lheading", Le).getRegex()
};
var rt = /^\\([!"#$%&'()*+,\-./:;<=>?@\[\]\\^_`{|}~])/;
var st = /^(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)/;
var Ie = /^( {2,}|\\)\n(?!\s*$)[ \t]*/;
var it = /^(`+|[^`])(?:(?= {2,}\n)|[\s\S]*?(?:(?=[\\<!\[`*_]|\b_|$)|[^ ](?= {2,}\n)))/;
var L2 = /[\p{P}\p{S}]/u;
var N2 = /[\s\p{P}\p{S}]/u;
var Y = /[^\s\p{P}\p{S}]/u;
var ot = g3(/^((?![*_])punctSpace)/, "u").replace(/punctSpace/g, N2).getRegex();
var at = /[\p{Pi}\p{Ps}"']/u;
var Ae = /(?!~)[\p{P}\p{S}]/u;
var lt = /(?!~)[\s\p{P}\p{S}]/u;
var ut = /(?:[^\s\p{P}\p{S}]|~)/u;
var pt = g3(/link|precode-code|html/, "g").replace("link", /\[(?:[^\[\]`]|(?<a>`+)[^`]+\k<a>(?!`))*?\]\((?:\\[\s\S]|[^\\\(\)]|\((?:\\[\s\S]|[^\\\(\)])*\))*\)/).replace("precode-", _e ? "(?<!`)()" : "(^^|[^`])").replace("code", /(?<b>`+)[^`]+\k<b>(?!`)/).replace("html", /<(?! )[^<>]*?>/).getRegex();
var Ee = /^(?:\*+(?:((?!\*)punct)|([^\s*]))?)|^_+(?:((?!_)punct)|([^\s_]))?/;
var ct = g3(Ee, "u").replace(/punct/g, L2).getRegex();
var ht = g3(Ee, "u").replace(/punct/g, Ae).getRegex();
var dt = /^(?:\*+(?:((?!\*)(?!openQuote)punct)|([^\s*]))?)|^_+(?:((?!_)(?!openQuote)punct)|([^\s_]))?/;
var gt = g3(dt, "u").replace(/openQuote/g, at).replace(/punct/g, L2).getRegex();
var ze = "^[^_*]*?__[^_*]*?\\*[^_*]*?(?=__)|[^*]+(?=[^*])|(?!\\*)punct(\\*+)(?=[\\s]|$)|notPunctSpace(\\*+)(?!\\*)(?=punctSpace|$)|(?!\\*)punctSpace(\\*+)(?=notPunctSpace)|[\\s](\\*+)(?!\\*)(?=punct)|(?!\\*)punct(\\*+)(?!\\*)(?=punct)|notPunctSpace(\\*+)(?=notPunctSpace)";
var kt = g3(ze, "gu").replace(/notPunctSpace/g, Y).replace(/punctSpace/g, N2).replace(/punct/g, L2).getRegex();
var ft = g3(ze, "gu").replace(/notPunctSpace/g, ut).replace(/punctSpace/g, lt).replace(/punct/g, Ae).getRegex();
var mt = "^[^_*]*?__[^_*]*?\\*[^_*]*?(?=__)|[^*]+(?=[^*])|(?!\\*)punct(\\*+)(?=[\\s]|$)|notPunctSpace(\\*+)(?!\\*)(?=punctSpace|$)|(?!\\*)[\\s](\\*+)(?=notPunctSpace)|[\\s](\\*+)(?!\\*)(?=punct)|(?!\\*)punct(\\*+)(?!\\*)(?=punct)|(?:(?!\\*)punct|notPunctSpace)(\\*+)(?!\\*)(?=notPunctSpace)";
var xt = g3(mt, "gu").replace(/notPunctSpace/g, Y).replace(/punctSpace/g, N2).replace(/punct/g, L2).getRegex();
var bt = g3("^[^_*]*?\\*\\*[^_*]*?_[^_*]*?(?=\\*\\*)|[^_]+(?=[^_])|(?!_)punct(_+)(?=[\\s]|$)|notPunctSpace(_+)(?!_)(?=punctSpace|$)|(?!_)punctSpace(_+)(?=notPunctSpace)|[\\s](_+)(?!_)(?=punct)|(?!_)punct(_+)(?!_)(?=punct)", "gu").replace(/notPunctSpace/g, Y).replace(/punctSpace/g, N2).replace(/punct/g, L2).getRegex();
var Rt = "^[^_*]*?\\*\\*[^_*]*?_[^_*]*?(?=\\*\\*)|[^_]+(?=[^_])|(?!_)punct(_+)(?=[\\s]|$)|notPunctSpace(_+)(?!_)(?=punctSpace|$)|(?!_)[\\s](_+)(?=notPunctSpace)|[\\s](_+)(?!_)(?=punct)|(?!_)punct(_+)(?!_)(?=punct)|(?:(?!_)punct|notPunctSpace)(_+)(?!_)(?=notPunctSpace)";
var Tt = g3(Rt, "gu").replace(/notPunctSpace/g, Y).replace(/punctSpace/g, N2).replace(/punct/g, L2).getRegex();
var Ot = g3(/^~~?(?:((?!~)punct)|[^\s~])/, "u").replace(/punct/g, L2).getRegex();
var wt = "^[^~]+(?=[^~])|(?!~)punct(~~?)(?=[\\s]|$)|notPunctSpace(~~?)(?!~)(?=punctSpace|$)|(?!~)punctSpace(~~?)(?=notPunctSpace)|[\\s](~~?)(?!~)(?=punct)|(?!~)punct(~~?)(?!~)(?=punct)|notPunctSpace(~~?)(?=notPunctSpace)";
var Pt = g3(wt, "gu").replace(/notPunctSpace/g, Y).replace(/punctSpace/g, N2).replace(/punct/g, L2).getRegex();
var yt = g3(/\\(punct)/, "gu").replace(/punct/g, L2).getRegex();
var St = g3(/(`+)(?:[^`]|[^`][\s\S]*?[^`])\1(?!`)|`+|\\(punct)/, "gu").replace(/punct/g, L2).getRegex();
var _t = g3(/^<(scheme:[^\s\x00-\x1f<>]*|email)>/).replace("scheme", /[a-zA-Z][a-zA-Z0-9+.-]{1,31}/).replace("email", /[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+(@)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+(?![-_])/).getRegex();
var $t = g3(ke).replace("(?:-->|$)", "-->").getRegex();
var Lt = g3("^comment|^</[a-zA-Z][a-zA-Z0-9-]*\\s*>|^<[a-zA-Z][a-zA-Z0-9-]*(?:attribute)*?\\s*/?>|^<\\?[\\s\\S]*?\\?>|^<![a-zA-Z]+\\s[\\s\\S]*?>|^<!\\[CDATA\\[[\\s\\S]*?\\]\\]>").replace("comment", $t).replace("attribute", /\s+[a-zA-Z:_][\w.:-]*(?:\s*=\s*"[^"]*"|\s*=\s*'[^']*'|\s*=\s*[^\s"'=<>`]+)?/).getRegex();
var Me = /\[(?:\\[\s\S]|[^\[\]\\])*\]/;
var ie = g3(/(?:\[(?:brackets|\\[\s\S]|[^\[\]\\])*\]|\\[\s\S]|`+(?!`)[^`]*?`+(?!`)|``+(?=\])|[^\[\]\\`])*?/).replace("brackets", Me).getRegex();
var Ct = g3(/^!?\[(label)\]\([ \t\n]*(href)(?:(?:[ \t]+(?:\n[ \t]*)?|\n[ \t]*)(title))?[ \t\n]*\)/).replace("label", ie).replace("href", /<(?:\\.|[^\n<>\\])*>|(?!<)[^ \t\n\x00-\x1f]+|(?=\))/).replace("title", /"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'|\((?:\\[\s\S]|[^)\\])*\)/).getRegex();
var It = g3(/^!?\[(label)\]\[(ref)\]/).replace("label", ie).replace("ref", ge).getRegex();
var At = g3(/^!?\[(ref)\](?:\[\])?/).replace("ref", ge).getRegex();
var ye = /(?!\s*\])(?:\\[\s\S]|[^\[\]\\]){1,999}/;
var Et = g3(/(?:[^\[\]\\`]*(?:\[(?:brackets|\\[\s\S]|[^\[\]\\])*\]|\\[\s\S]|`+(?!`)[^`]*?`+(?!`)|``+(?=\]))){0,999}?[^\[\]\\`]*?/).replace("brackets", Me).getRegex();
var zt = g3("reflink|nolink(?!\\()", "g").replace("reflink", g3(/^!?\[(label)\]\[(ref)\]/).replace("label", Et).replace("ref", ye).getRegex()).replace("nolink", g3(/^!?\[(ref)\](?:\[\])?/).replace("ref", ye).getRegex()).getRegex();
var Se = /[hH][tT][tT][pP][sS]?|[fF][tT][pP]/;
var Mt = /[A-Za-z0-9._+-]+@[a-zA-Z0-9-_]+(?:\.[a-zA-Z0-9-_]*[a-zA-Z0-9])+(?![\w-])/;
var Bt = g3(/(?:mailto:email|xmpp:email(?:\/[A-Za-z0-9@.]+)?)/).replace(/email/g, Mt).getRegex();
var me = {
  _backpedal: q2,
  anyPunctuation: yt,
  anyPunctuationOutsideCode: St,
  autolink: _t,
  blockSkip: pt,
  br: Ie,
  code: st,
  del: q2,
  delLDelim: q2,
  delRDelim: q2,
  emStrongLDelim: ct,
  emStrongRDelimAst: kt,
  emStrongRDelimUnd: bt,
  escape: rt,
  link: Ct,
  nolink: At,
  punctuation: ot,
  reflink: It,
  reflinkSearch: zt,
  tag: Lt,
  text: it,
  url: q2
};
var Dt = {
  ...me,
  emStrongLDelim: gt,
  emStrongRDelimAst: xt,
  emStrongRDelimUnd: Tt,
  link: g3(/^!?\[(label)\]\((.*?)\)/).replace("label", ie).getRegex(),
  reflink: g3(/^!?\[(label)\]\s*\[([^\]]*)\]/).replace("label", ie).getRegex()
};
var pe = {
  ...me,
  emStrongRDelimAst: ft,
  emStrongLDelim: ht,
  delLDelim: Ot,
  delRDelim: Pt,
  url: g3(/^emailProtocol|^((?:protocol):\/\/|www\.)(?:[a-zA-Z0-9\-]+\.?)+[^\s<]*|^email/).replace("emailProtocol", Bt).replace("protocol", Se).replace("email", /[A-Za-z0-9._+-]+(@)[a-zA-Z0-9-_]+(?:\.[a-zA-Z0-9-_]*[a-zA-Z0-9])+(?![\w-])/).getRegex(),
  _backpedal: /(?:[^?!.,:;*_'"~()&]+|\([^)]*\)|&(?![a-zA-Z0-9]+;$)|[?!.,:;*_'"~)]+(?!$))+/,
  del: /^(~~?)(?=[^\s~])((?:\\[\s\S]|[^\\])*?(?:\\[\s\S]|[^\s~\\]))\1(?=[^~]|$)/,
  text: g3(/^(?:[^a-zA-Z0-9](?=emailProtocol)|(`+|~+|[^`~])(?:(?=[`~])|(?= {2,}\n)|(?=[a-zA-Z0-9.!#$%&'*+\/=?_`{\|}~-]+@)|[\s\S]*?(?:(?=[\\<!\[`*~_]|\b_|protocol:\/\/|wwwStart|$)|[^ ](?= {2,}\n)|[^a-zA-Z0-9](?=emailProtocol)|[^a-zA-Z0-9.!#$%&'*+\/=?_`{\|}~-](?=[a-zA-Z0-9.!#$%&'*+\/=?_`{\|}~-]+@))))/).replace("protocol", Se).replace(/emailProtocol/g, /(?:mailto|xmpp):/).replace("wwwStart", _e ? "(?<![^\\s*_~(])www\\." : "www\\.").getRegex()
};
var qt = {
  ...pe,
  br: g3(Ie).replace("{2,}", "*").getRegex(),
  text: g3(pe.text).replace("\\b_", "\\b_| {2,}\\n").replace(/\{2,\}/g, "*").getRegex()
};
var ee = {
  normal: fe,
  gfm: tt,
  pedantic: nt
};
var F3 = {
  normal: me,
  gfm: pe,
  breaks: qt,
  pedantic: Dt
};
var vt = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
};
var Be = (l5) => vt[l5];
function y3(l5, e3) {
  if (e3) {
    if (O.escapeTest.test(l5)) return l5.replace(O.escapeReplace, Be);
  } else if (O.escapeTestNoEncode.test(l5)) return l5.replace(O.escapeReplaceNoEncode, Be);
  return l5;
}
function De(l5) {
  return O.numericCharacterReference.test(l5) ? l5.replace(O.numericCharacterReferenceOrAmpersand, (e3, t4, n3) => {
    if (t4 === void 0 && n3 === void 0) return "&amp;";
    let r3 = t4 === void 0 ? Number.parseInt(n3, 16) : Number.parseInt(t4, 10);
    return r3 === 0 || r3 > 1114111 || r3 >= 55296 && r3 <= 57343 ? "\uFFFD" : r3 === 38 ? "&amp;" : String.fromCodePoint(r3);
  }) : l5;
}
function xe(l5) {
  try {
    l5 = encodeURI(l5).replace(O.percentDecode, "%");
  } catch {
    return null;
  }
  return l5;
}
function be(l5, e3) {
  let t4 = l5.replace(O.findPipe, (s3, o3, i3) => {
    let a3 = false, c3 = o3;
    for (; --c3 >= 0 && i3[c3] === "\\"; ) a3 = !a3;
    return a3 ? "|" : " |";
  }), n3 = t4.split(O.splitPipe), r3 = 0;
  if (n3[0].trim() || n3.shift(), n3.length > 0 && !n3.at(-1)?.trim() && n3.pop(), e3) if (n3.length > e3) n3.splice(e3);
  else for (; n3.length < e3; ) n3.push("");
  for (; r3 < n3.length; r3++) n3[r3] = n3[r3].trim().replace(O.slashPipe, "|");
  return n3;
}
function C3(l5, e3, t4) {
  let n3 = l5.length;
  if (n3 === 0) return "";
  let r3 = 0;
  for (; r3 < n3; ) {
    let s3 = l5.charAt(n3 - r3 - 1);
    if (s3 === e3 && !t4) r3++;
    else if (s3 !== e3 && t4) r3++;
    else break;
  }
  return l5.slice(0, n3 - r3);
}
function Re(l5) {
  let e3 = l5.split(`
`), t4 = e3.length - 1;
  for (; t4 >= 0 && O.blankLine.test(e3[t4]); ) t4--;
  return e3.length - t4 <= 2 ? l5 : e3.slice(0, t4 + 1).join(`
`);
}
function W(l5) {
  return l5.trim().replace(O.multipleSpaceGlobal, " ").toLowerCase().toUpperCase().toLowerCase();
}
function Te(l5, e3) {
  if (l5.indexOf(e3[0]) === -1 && l5.indexOf(e3[1]) === -1) return -1;
  let t4 = 0;
  for (let n3 = 0; n3 < l5.length; n3++) if (l5[n3] === "\\") n3++;
  else if (l5[n3] === e3[0]) t4++;
  else if (l5[n3] === e3[1] && (t4--, t4 < 0)) return n3;
  return t4 > 0 ? -2 : -1;
}
var Q2 = /* @__PURE__ */ new WeakMap();
function Oe(l5) {
  let e3 = {
    "*": -1,
    _: -1
  }, t4 = -1, n3 = l5.length;
  for (let r3 = 0; r3 < n3; r3++) {
    let s3 = l5[r3];
    if (s3 !== "*" && s3 !== "_" && s3 !== "~") continue;
    let o3 = r3 === 0 ? `
` : l5[r3 - 1], i3 = r3 + 1;
    for (; i3 < n3 && l5[i3] === s3; ) i3++;
    o3 !== " " && o3 !== "	" && o3 !== `
` && o3 !== "\r" && o3 !== "\f" && (s3 === "~" ? t4 = r3 : e3[s3] = r3), r3 = i3 - 1;
  }
  return {
    maskedSrc: l5,
    lastPossibleEmStrongCloserIndex: e3,
    lastPossibleDelCloserIndex: t4
  };
}
function qe(l5, e3) {
  let t4 = Oe(e3), n3 = Q2.get(l5);
  n3 ? n3.push(t4) : Q2.set(l5, [
    t4
  ]);
}
function ve(l5) {
  let e3 = Q2.get(l5);
  e3 && (e3.pop(), e3.length === 0 && Q2.delete(l5));
}
function oe(l5, e3, t4) {
  let n3 = Q2.get(l5)?.at(-1);
  return n3 && n3.maskedSrc === e3 ? n3.lastPossibleEmStrongCloserIndex[t4] : Oe(e3).lastPossibleEmStrongCloserIndex[t4];
}
function ae(l5, e3) {
  let t4 = Q2.get(l5)?.at(-1);
  return t4 && t4.maskedSrc === e3 ? t4.lastPossibleDelCloserIndex : Oe(e3).lastPossibleDelCloserIndex;
}
function te(l5, e3 = 0) {
  let t4 = e3, n3 = "";
  for (let r3 of l5) if (r3 === "	") {
    let s3 = 4 - t4 % 4;
    n3 += " ".repeat(s3), t4 += s3;
  } else n3 += r3, t4++;
  return n3;
}
function Ht(l5, e3) {
  let t4 = "";
  for (let n3 = 0; n3 < l5.length; n3++) {
    if (l5[n3] === "`") {
      let r3 = e3.inline.code.exec(l5.slice(n3));
      if (r3) {
        t4 += r3[0], n3 += r3[0].length - 1;
        continue;
      }
    }
    if (l5[n3] === "\\" && (l5[n3 + 1] === "[" || l5[n3 + 1] === "]")) {
      t4 += l5[n3 + 1], n3++;
      continue;
    }
    t4 += l5[n3];
  }
  return t4;
}
function He(l5, e3, t4, n3, r3) {
  let s3 = e3.href, o3 = e3.title || null, i3 = Ht(l5[1], r3), a3 = l5[0].charAt(0) === "!", c3 = n3.state.inLink, u3 = n3.state.linkEmitted, d3 = n3.state.inRawBlock;
  n3.state.inLink = true, n3.state.linkEmitted = false;
  let h3 = n3.inlineTokens(i3), p3 = n3.state.linkEmitted;
  if (n3.state.linkEmitted = u3, n3.state.inLink = c3, !a3) {
    if (p3) {
      n3.state.inRawBlock = d3;
      return;
    }
    n3.state.linkEmitted = true;
  }
  return {
    type: a3 ? "image" : "link",
    raw: t4,
    href: s3,
    title: o3,
    text: i3,
    tokens: h3
  };
}
function Zt(l5, e3, t4) {
  let n3 = l5.match(t4.other.indentCodeCompensation);
  if (n3 === null) return e3;
  let r3 = n3[1];
  return e3.split(`
`).map((s3) => {
    let o3 = s3.match(t4.other.beginningSpace);
    if (o3 === null) return s3;
    let [i3] = o3;
    return s3.slice(Math.min(i3.length, r3.length));
  }).join(`
`);
}
function Ze(l5, e3, t4, n3) {
  if (!e3.includes("<")) return false;
  for (let r3 = 0; r3 < e3.length; r3++) {
    if (e3[r3] === "\\") {
      r3++;
      continue;
    }
    if (e3[r3] === "`") {
      let i3 = n3.inline.code.exec(e3.slice(r3));
      if (i3) {
        r3 += i3[0].length - 1;
        continue;
      }
    }
    if (e3[r3] !== "<") continue;
    let s3 = l5.slice(t4 + r3), o3 = n3.inline.tag.exec(s3) || n3.inline.autolink.exec(s3);
    if (o3) {
      if (o3[0].length > e3.length - r3) return true;
      r3 += o3[0].length - 1;
    }
  }
  return false;
}
var _3 = class {
  options;
  rules;
  lexer;
  constructor(e3) {
    this.options = e3 || S2;
  }
  space(e3) {
    let t4 = this.rules.block.newline.exec(e3);
    if (t4 && t4[0].length > 0) return {
      type: "space",
      raw: t4[0]
    };
  }
  code(e3) {
    let t4 = this.rules.block.code.exec(e3);
    if (t4) {
      let n3 = this.options.pedantic ? t4[0] : Re(t4[0]), r3 = n3.replace(this.rules.other.codeRemoveIndent, "");
      return {
        type: "code",
        raw: n3,
        codeBlockStyle: "indented",
        text: r3
      };
    }
  }
  fences(e3) {
    let t4 = this.rules.block.fences.exec(e3);
    if (t4) {
      let n3 = t4[0], r3 = Zt(n3, t4[3] || "", this.rules);
      return t4[3] !== void 0 && (r3 === "" || r3.endsWith(`
`)) && (r3 += `
`), {
        type: "code",
        raw: n3,
        lang: t4[2] ? t4[2].trim().replace(this.rules.inline.anyPunctuation, "$1") : t4[2],
        text: r3
      };
    }
  }
  heading(e3) {
    let t4 = this.rules.block.heading.exec(e3);
    if (t4) {
      let n3 = t4[2].trim();
      if (this.rules.other.endingHash.test(n3)) {
        let r3 = C3(n3, "#");
        (this.options.pedantic || !r3 || this.rules.other.endingSpaceTabChar.test(r3)) && (n3 = r3.trim());
      }
      return {
        type: "heading",
        raw: C3(t4[0], `
`),
        depth: t4[1].length,
        text: n3,
        tokens: this.lexer.inline(n3)
      };
    }
  }
  hr(e3) {
    let t4 = this.rules.block.hr.exec(e3);
    if (t4) return {
      type: "hr",
      raw: C3(t4[0], `
`)
    };
  }
  blockquote(e3) {
    let t4 = this.rules.block.blockquote.exec(e3);
    if (t4) {
      let n3 = C3(t4[0], `
`).split(`
`), r3 = "", s3 = "", o3 = [];
      for (; n3.length > 0; ) {
        let i3 = false, a3 = [], c3;
        for (c3 = 0; c3 < n3.length; c3++) if (this.rules.other.blockquoteStart.test(n3[c3])) a3.push(n3[c3]), i3 = true;
        else if (!i3) a3.push(n3[c3]);
        else break;
        n3 = n3.slice(c3);
        let u3 = a3.join(`
`), d3 = u3.replace(this.rules.other.blockquoteMarkerWhitespace, (k3, m4, b) => b.startsWith(" ") ? m4 + " " + b.slice(1) : m4 + te(b, m4.length)).replace(this.rules.other.blockquoteSetextReplace, `
    $1`).replace(this.rules.other.blockquoteSetextReplace2, "");
        r3 = r3 ? `${r3}
${u3}` : u3, s3 = s3 ? `${s3}
${d3}` : d3;
        let h3 = this.lexer.state.top;
        if (this.lexer.state.top = true, this.lexer.blockTokens(d3, o3, true), this.lexer.state.top = h3, n3.length === 0) break;
        let p3 = o3.at(-1);
        if (p3?.type === "code" || p3?.type === "heading" || p3?.type === "hr" || p3?.type === "html" || p3?.type === "table") break;
        if (p3?.type === "blockquote") {
          let k3 = p3, m4 = n3.join(`
`), b = k3.raw + `
` + m4.replace(this.rules.other.blockquoteSetextReplace2, ""), f3 = this.blockquote(b);
          o3[o3.length - 1] = f3;
          let R = b.substring(f3.raw.length).replace(/^\n/, ""), E3 = R ? R.split(`
`).length : 0, T3 = E3 ? n3.slice(0, -E3) : n3;
          if (T3.length > 0 && (r3 = `${r3}
${T3.join(`
`)}`), s3 = s3.substring(0, s3.length - k3.text.length) + f3.text, n3 = n3.slice(T3.length), n3.length > 0 && this.rules.other.blockquoteStart.test(n3[0])) continue;
          break;
        } else if (p3?.type === "list") {
          let k3 = p3, m4 = k3.raw + `
` + n3.join(`
`), b = this.list(m4);
          o3[o3.length - 1] = b;
          let f3 = b.raw.length > k3.raw.length ? m4.slice(k3.raw.length + 1, b.raw.length).split(`
`).length : 0;
          if (f3 > 0) {
            let R = n3.slice(0, f3).join(`
`);
            r3 = `${r3}
${R}`, s3 = `${s3}
${R}`;
          }
          if (n3 = n3.slice(f3), n3.length > 0 && !this.rules.other.blockquoteStart.test(n3[0])) break;
          continue;
        }
      }
      return {
        type: "blockquote",
        raw: r3,
        tokens: o3,
        text: s3
      };
    }
  }
  list(e3) {
    let t4 = this.rules.block.list.exec(e3);
    if (t4) {
      if (!this.options.pedantic && this.lexer.state.lastToken?.type === "text" && !this.rules.other.listInterruptsParagraph.test(e3)) return;
      let n3 = e3, r3 = () => n3.length - e3.length, s3 = t4[1].trim(), o3 = s3.length > 1, i3 = {
        type: "list",
        raw: "",
        ordered: o3,
        start: o3 ? +s3.slice(0, -1) : "",
        loose: false,
        items: []
      };
      s3 = o3 ? `\\d{1,9}\\${s3.slice(-1)}` : `\\${s3}`, this.options.pedantic && (s3 = o3 ? s3 : "[*+-]");
      let a3 = this.rules.other.listItemRegex(s3), c3 = false;
      for (; e3; ) {
        let h3 = false, p3 = "";
        if (!(t4 = a3.exec(e3)) || this.rules.block.hr.test(e3)) break;
        let k3 = r3();
        e3 = e3.substring(t4[0].length);
        let m4 = t4[2].split(`
`, 1)[0], b = t4[1].length, f3 = this.options.pedantic ? te(m4, b) : m4.replace(this.rules.other.leadingSpaceTab, (H2) => te(H2, b)), R = e3.split(`
`, 1)[0], E3 = !f3.trim(), T3 = 0;
        if (this.options.pedantic ? (T3 = 2, p3 = f3.trimStart()) : E3 ? T3 = b + 1 : (T3 = f3.search(this.rules.other.nonSpaceChar), T3 = T3 > 4 ? 1 : T3, p3 = f3.slice(T3), T3 += b), E3 && this.rules.other.blankLine.test(R) && (e3 = e3.substring(R.length + 1), h3 = true), !h3) {
          let H2 = this.rules.other.nextBulletRegex(T3), K2 = this.rules.other.hrRegex(T3), re = this.rules.other.fencesBeginRegex(T3), B3 = this.options.pedantic ? this.rules.other.pedanticHeadingBeginRegex(T3) : this.rules.other.headingBeginRegex(T3), X = this.rules.other.htmlBeginRegex(T3), se = this.rules.other.blockquoteBeginRegex(T3), le = false;
          for (; e3; ) {
            let we = e3.split(`
`, 1)[0], Z;
            if (R = we, this.options.pedantic ? (R = R.replace(this.rules.other.listReplaceNesting, "  "), Z = R) : Z = R.replace(this.rules.other.leadingSpaceTab, ($2) => te($2)), re.test(R) || B3.test(R) || X.test(R) || se.test(R) || H2.test(R) || K2.test(R)) break;
            if (Z.search(this.rules.other.nonSpaceChar) >= T3 || !R.trim()) p3 += `
` + Z.slice(T3), le = false;
            else {
              if (E3) break;
              let $2 = f3;
              if (!this.options.pedantic && !p3.includes(`
`) && !f3.includes("	")) {
                let j2;
                for (; !K2.test($2) && (j2 = this.rules.other.nestedBlockMarker.exec($2)); ) $2 = $2.slice(j2[0].length);
                if (!$2.trim()) break;
              }
              if ($2.replace(this.rules.other.tabCharGlobal, "    ").search(this.rules.other.nonSpaceChar) >= 4 || re.test($2) || B3.test($2) || X.test($2) || K2.test($2)) break;
              if (!this.options.pedantic && !le) {
                let j2 = f3.replace(this.rules.other.nestedContainerMarkers, "");
                if (this.rules.block.fences.test(j2) || this.rules.block.heading.test(j2) || this.rules.block.hr.test(j2)) break;
              }
              let je = !this.options.pedantic && /^ {0,3}(?:=+|-+) *$/.test(R) && this.rules.block.lheading.test(`${f3}
${R}`) ? `    ${Z.replace(/^ {0,3}/, "")}` : R;
              p3 += `
` + je, le = true;
            }
            E3 = !R.trim(), e3 = e3.substring(we.length + 1), f3 = Z.slice(T3);
          }
        }
        let U = n3.slice(k3, r3());
        i3.loose || (c3 ? i3.loose = true : this.rules.other.doubleBlankLine.test(U) && (c3 = true)), i3.items.push({
          type: "list_item",
          raw: U,
          task: !!this.options.gfm && this.rules.other.listIsTask.test(p3),
          loose: false,
          text: p3,
          tokens: []
        });
      }
      let u3 = i3.items.at(-1);
      if (u3) u3.raw = u3.raw.trimEnd(), u3.text = u3.text.trimEnd();
      else return;
      i3.raw = n3.slice(0, r3()).trimEnd();
      let d3 = [];
      for (let h3 of i3.items) if (this.lexer.state.top = false, d3.push(this.lexer.inlineQueue.length), h3.tokens = this.lexer.blockTokens(h3.text, []), !i3.loose) {
        let p3 = h3.tokens.filter((m4) => m4.type === "space"), k3 = p3.length > 0 && p3.some((m4) => this.rules.other.anyLine.test(m4.raw));
        i3.loose = k3;
      }
      for (let h3 = 0; h3 < i3.items.length; h3++) {
        let p3 = i3.items[h3], k3 = p3.tokens[0];
        if (p3.task && (k3?.type === "text" || k3?.type === "paragraph")) {
          p3.text = p3.text.replace(this.rules.other.listReplaceTask, ""), k3.raw = k3.raw.replace(this.rules.other.listReplaceTask, ""), k3.text = k3.text.replace(this.rules.other.listReplaceTask, "");
          let m4 = this.lexer.inlineQueue;
          for (let f3 = d3[h3]; f3 < m4.length; f3++) if (m4[f3].tokens === k3.tokens) {
            m4[f3].src = m4[f3].src.replace(this.rules.other.listReplaceTask, "");
            break;
          }
          let b = this.rules.other.listTaskCheckbox.exec(p3.raw);
          if (b) {
            let f3 = {
              type: "checkbox",
              raw: b[0] + " ",
              checked: b[0] !== "[ ]"
            };
            p3.checked = f3.checked, i3.loose ? p3.tokens[0] && [
              "paragraph",
              "text"
            ].includes(p3.tokens[0].type) && "tokens" in p3.tokens[0] && p3.tokens[0].tokens ? (p3.tokens[0].raw = f3.raw + p3.tokens[0].raw, p3.tokens[0].text = f3.raw + p3.tokens[0].text, p3.tokens[0].tokens.unshift(f3)) : p3.tokens.unshift({
              type: "paragraph",
              raw: f3.raw,
              text: f3.raw,
              tokens: [
                f3
              ]
            }) : p3.tokens.unshift(f3);
          }
        } else p3.task && (p3.task = false);
      }
      if (i3.loose) for (let h3 of i3.items) {
        h3.loose = true;
        for (let p3 of h3.tokens) p3.type === "text" && (p3.type = "paragraph");
      }
      return i3;
    }
  }
  html(e3) {
    let t4 = this.rules.block.html.exec(e3);
    if (t4) {
      if (this.lexer.state.lastToken?.type === "paragraph" && !this.rules.other.htmlBeginRegex(4).test(e3)) return;
      let n3 = Re(t4[0]);
      return {
        type: "html",
        block: true,
        raw: n3,
        pre: t4[1] === "pre" || t4[1] === "script" || t4[1] === "style",
        text: n3
      };
    }
  }
  def(e3) {
    let t4 = this.rules.block.def.exec(e3);
    if (t4) {
      if (!this.rules.other.startAngleBracket.test(t4[2]) && Te(t4[2], "()") !== -1) return;
      let n3 = W(t4[1]), r3 = t4[2] ? t4[2].replace(this.rules.other.hrefBrackets, "$1").replace(this.rules.inline.anyPunctuation, "$1") : "", s3 = t4[3] ? t4[3].substring(1, t4[3].length - 1).replace(this.rules.inline.anyPunctuation, "$1") : t4[3];
      return {
        type: "def",
        tag: n3,
        raw: C3(t4[0], `
`),
        href: r3,
        title: s3
      };
    }
  }
  table(e3) {
    let t4 = this.rules.block.table.exec(e3);
    if (!t4 || !this.rules.other.tableDelimiter.test(t4[2])) return;
    let n3 = be(t4[1]), r3 = t4[2].replace(this.rules.other.tableAlignChars, "").split("|"), s3 = t4[3]?.trim() ? t4[3].replace(this.rules.other.tableRowBlankLine, "").split(`
`) : [], o3 = {
      type: "table",
      raw: C3(t4[0], `
`),
      header: [],
      align: [],
      rows: []
    };
    if (n3.length === r3.length) {
      for (let i3 of r3) this.rules.other.tableAlignRight.test(i3) ? o3.align.push("right") : this.rules.other.tableAlignCenter.test(i3) ? o3.align.push("center") : this.rules.other.tableAlignLeft.test(i3) ? o3.align.push("left") : o3.align.push(null);
      for (let i3 = 0; i3 < n3.length; i3++) o3.header.push({
        text: n3[i3],
        tokens: this.lexer.inline(n3[i3]),
        header: true,
        align: o3.align[i3]
      });
      for (let i3 of s3) o3.rows.push(be(i3, o3.header.length).map((a3, c3) => ({
        text: a3,
        tokens: this.lexer.inline(a3),
        header: false,
        align: o3.align[c3]
      })));
      return o3;
    }
  }
  lheading(e3) {
    let t4 = this.rules.block.lheading.exec(e3);
    if (t4) {
      let n3 = t4[1].trim();
      return {
        type: "heading",
        raw: C3(t4[0], `
`),
        depth: t4[2].charAt(0) === "=" ? 1 : 2,
        text: n3,
        tokens: this.lexer.inline(n3)
      };
    }
  }
  paragraph(e3) {
    let t4 = this.rules.block.paragraph.exec(e3);
    if (t4) {
      let n3 = t4[1].charAt(t4[1].length - 1) === `
` ? t4[1].slice(0, -1) : t4[1];
      return {
        type: "paragraph",
        raw: t4[0],
        text: n3,
        tokens: this.lexer.inline(n3)
      };
    }
  }
  text(e3) {
    let t4 = this.rules.block.text.exec(e3);
    if (t4) return {
      type: "text",
      raw: t4[0],
      text: t4[0],
      tokens: this.lexer.inline(t4[0])
    };
  }
  escape(e3) {
    if (e3.charCodeAt(0) !== 92) return;
    let t4 = this.rules.inline.escape.exec(e3);
    if (t4) return {
      type: "escape",
      raw: t4[0],
      text: t4[1]
    };
  }
  tag(e3) {
    if (e3.charCodeAt(0) !== 60) return;
    let t4 = this.rules.inline.tag.exec(e3);
    if (t4) return !this.lexer.state.inLink && this.rules.other.startATag.test(t4[0]) ? this.lexer.state.inLink = true : this.lexer.state.inLink && this.rules.other.endATag.test(t4[0]) && (this.lexer.state.inLink = false), !this.lexer.state.inRawBlock && this.rules.other.startPreScriptTag.test(t4[0]) ? this.lexer.state.inRawBlock = true : this.lexer.state.inRawBlock && this.rules.other.endPreScriptTag.test(t4[0]) && (this.lexer.state.inRawBlock = false), {
      type: "html",
      raw: t4[0],
      inLink: this.lexer.state.inLink,
      inRawBlock: this.lexer.state.inRawBlock,
      block: false,
      text: t4[0]
    };
  }
  link(e3) {
    if (this.lexer.state.linkParenPossible === false) return;
    let t4 = e3.charCodeAt(0);
    if (t4 !== 91 && t4 !== 33) return;
    let n3 = this.rules.inline.link.exec(e3);
    if (n3) {
      let r3 = n3[0].charAt(0) === "!" ? 2 : 1;
      if (!this.options.pedantic && Ze(e3, n3[1], r3, this.rules)) return;
      let s3 = n3[2].trim();
      if (!this.options.pedantic && this.rules.other.startAngleBracket.test(s3)) {
        if (!this.rules.other.endAngleBracket.test(s3)) return;
        let c3 = C3(s3.slice(0, -1), "\\");
        if ((s3.length - c3.length) % 2 === 0) return;
      } else {
        let c3 = Te(n3[2], "()");
        if (c3 === -2) return;
        if (c3 > -1) {
          let d3 = (n3[0].indexOf("!") === 0 ? 5 : 4) + n3[1].length + c3;
          n3[2] = n3[2].substring(0, c3), n3[0] = n3[0].substring(0, d3).trim(), n3[3] = "";
        }
      }
      let o3 = C3(n3[0].slice(0, -1), "\\");
      if ((n3[0].length - o3.length) % 2 === 0) return;
      let i3 = n3[2], a3 = "";
      if (this.options.pedantic) {
        let c3 = this.rules.other.pedanticHrefTitle.exec(i3);
        c3 && (i3 = c3[1], a3 = c3[3]);
      } else a3 = n3[3] ? n3[3].slice(1, -1) : "";
      return i3 = i3.trim(), this.rules.other.startAngleBracket.test(i3) && (this.options.pedantic && !this.rules.other.endAngleBracket.test(s3) ? i3 = i3.slice(1) : i3 = i3.slice(1, -1)), He(n3, {
        href: i3 && i3.replace(this.rules.inline.anyPunctuation, "$1"),
        title: a3 && a3.replace(this.rules.inline.anyPunctuation, "$1")
      }, n3[0], this.lexer, this.rules);
    }
  }
  reflink(e3, t4) {
    let n3 = e3.charCodeAt(0);
    if (n3 !== 91 && n3 !== 33) return;
    let r3;
    if ((r3 = this.rules.inline.reflink.exec(e3)) || (r3 = this.rules.inline.nolink.exec(e3))) {
      let s3 = r3[0].charAt(0) === "!" ? 2 : 1;
      if (!this.options.pedantic && Ze(e3, r3[1], s3, this.rules)) return;
      let o3 = t4[W(r3[2] || r3[1])];
      if (!o3) {
        let i3 = r3[0].charAt(0);
        return {
          type: "text",
          raw: i3,
          text: i3
        };
      }
      return He(r3, o3, r3[0], this.lexer, this.rules);
    }
  }
  emStrong(e3, t4, n3 = "") {
    let r3 = this.rules.inline.emStrongLDelim.exec(e3);
    if (!r3 || !r3[1] && !r3[2] && !r3[3] && !r3[4]) return;
    let s3 = r3[0][0], o3 = n3 === s3, i3 = t4.length - e3.length, a3 = i3;
    for (; !this.options.pedantic && a3 > 0 && t4[a3 - 1] === s3; ) a3--;
    let c3 = [
      ...t4.slice(Math.max(0, a3 - 2), a3)
    ].at(-1) ?? "", u3 = c3 === "*" || c3 === "_" || !!this.rules.inline.punctuation.exec(c3);
    a3 < i3 && (n3 = c3);
    let d3 = a3 < i3 ? u3 : n3 === "*" || n3 === "_" || !!this.rules.inline.punctuation.exec(n3);
    if (r3[4] && n3.match(this.rules.other.unicodeAlphaNumeric)) return;
    let h3 = r3[1] || r3[3] || "";
    if (!h3 || !n3 || d3) {
      let p3 = [
        ...r3[0]
      ].length - 1, k3, m4, b = p3, f3 = 0, R = i3 - a3 + p3, E3 = !this.options.pedantic && !!c3.trim() && (!!h3 || s3 === "*" && !u3);
      if (s3 !== "*" && s3 !== "_") return;
      let T3 = s3 === "*" ? this.rules.inline.emStrongRDelimAst : this.rules.inline.emStrongRDelimUnd, U = oe(this, t4, s3), H2 = t4.length - e3.length + p3;
      if (U < H2) return;
      t4 = t4.slice(-1 * e3.length + p3);
      let K2 = U - H2;
      for (T3.lastIndex = 0; (r3 = T3.exec(t4)) !== null && !(r3.index > K2); ) {
        if (k3 = r3[1] || r3[2] || r3[3] || r3[4] || r3[5] || r3[6], !k3) continue;
        if (m4 = [
          ...k3
        ].length, r3[3] || r3[4]) {
          b += m4;
          continue;
        } else if ((r3[5] || r3[6] || E3) && R % 3 && !((R + m4) % 3)) {
          if (o3 && (r3[5] || r3[6])) break;
          f3 += m4;
          continue;
        }
        if (b -= m4, b > 0) continue;
        m4 = Math.min(m4, m4 + b + f3);
        let re = [
          ...r3[0]
        ][0].length, B3 = e3.slice(0, p3 + r3.index + re + m4);
        if (Math.min(p3, m4) % 2) {
          let se = B3.slice(1, -1);
          return {
            type: "em",
            raw: B3,
            text: se,
            tokens: this.lexer.inlineTokens(se)
          };
        }
        let X = B3.slice(2, -2);
        return {
          type: "strong",
          raw: B3,
          text: X,
          tokens: this.lexer.inlineTokens(X)
        };
      }
    }
  }
  codespan(e3) {
    if (e3.charCodeAt(0) !== 96) return;
    let t4 = this.rules.inline.code.exec(e3);
    if (t4) {
      let n3 = t4[2].replace(this.rules.other.newLineCharGlobal, " "), r3 = this.rules.other.nonSpaceChar.test(n3), s3 = this.rules.other.startingSpaceChar.test(n3) && this.rules.other.endingSpaceChar.test(n3);
      return r3 && s3 && (n3 = n3.substring(1, n3.length - 1)), {
        type: "codespan",
        raw: t4[0],
        text: n3
      };
    }
  }
  br(e3) {
    let t4 = e3.charCodeAt(0);
    if (t4 !== 32 && t4 !== 92 && t4 !== 10) return;
    let n3 = this.rules.inline.br.exec(e3);
    if (n3) return {
      type: "br",
      raw: n3[0]
    };
  }
  del(e3, t4, n3 = "") {
    if (e3.charCodeAt(0) !== 126) return;
    let r3 = this.rules.inline.delLDelim.exec(e3);
    if (!r3) return;
    if (!(r3[1] || "") || !n3 || this.rules.inline.punctuation.exec(n3)) {
      let o3 = [
        ...r3[0]
      ].length - 1, i3, a3, c3 = o3, u3 = this.rules.inline.delRDelim, d3 = ae(this, t4), h3 = t4.length - e3.length + o3;
      if (d3 < h3) return;
      t4 = t4.slice(-1 * e3.length + o3);
      let p3 = d3 - h3;
      for (u3.lastIndex = 0; (r3 = u3.exec(t4)) !== null && !(r3.index > p3); ) {
        if (i3 = r3[1] || r3[2] || r3[3] || r3[4] || r3[5] || r3[6], !i3 || (a3 = [
          ...i3
        ].length, a3 !== o3)) continue;
        if (r3[3] || r3[4]) {
          c3 += a3;
          continue;
        }
        if (c3 -= a3, c3 > 0) continue;
        a3 = Math.min(a3, a3 + c3);
        let k3 = [
          ...r3[0]
        ][0].length, m4 = e3.slice(0, o3 + r3.index + k3 + a3), b = m4.slice(o3, -o3);
        return {
          type: "del",
          raw: m4,
          text: b,
          tokens: this.lexer.inlineTokens(b)
        };
      }
    }
  }
  autolink(e3) {
    if (e3.charCodeAt(0) !== 60) return;
    let t4 = this.rules.inline.autolink.exec(e3);
    if (t4) {
      let n3, r3;
      return t4[2] === "@" ? (n3 = t4[1], r3 = "mailto:" + n3) : (n3 = t4[1], r3 = n3), {
        type: "link",
        raw: t4[0],
        text: n3,
        href: r3,
        autolink: true,
        tokens: [
          {
            type: "text",
            raw: n3,
            text: n3
          }
        ]
      };
    }
  }
  url(e3) {
    let t4;
    if (t4 = this.rules.inline.url.exec(e3)) {
      let n3, r3;
      if (t4[2] === "@") n3 = t4[0], r3 = "mailto:" + n3;
      else {
        let s3;
        do
          s3 = t4[0], t4[0] = this.rules.inline._backpedal.exec(t4[0])?.[0] ?? "";
        while (s3 !== t4[0]);
        n3 = t4[0], t4[1] === "www." ? r3 = "http://" + t4[0] : r3 = t4[0];
      }
      return {
        type: "link",
        raw: t4[0],
        text: n3,
        href: r3,
        autolink: true,
        tokens: [
          {
            type: "text",
            raw: n3,
            text: n3
          }
        ]
      };
    }
  }
  inlineText(e3) {
    let t4 = this.rules.inline.text.exec(e3);
    if (t4) {
      let n3 = this.lexer.state.inRawBlock;
      return {
        type: "text",
        raw: t4[0],
        text: n3 ? t4[0] : De(t4[0]),
        escaped: n3
      };
    }
  }
};
var w3 = class l3 {
  tokens;
  options;
  state;
  inlineQueue;
  tokenizer;
  constructor(e3) {
    this.tokens = [], this.tokens.links = /* @__PURE__ */ Object.create(null), this.options = e3 || S2, this.options.tokenizer = this.options.tokenizer || new _3(), this.tokenizer = this.options.tokenizer, this.tokenizer.options = this.options, this.tokenizer.lexer = this, this.inlineQueue = [], this.state = {
      inLink: false,
      inRawBlock: false,
      linkEmitted: false,
      linkParenPossible: true,
      top: true
    };
    let t4 = {
      other: O,
      block: ee.normal,
      inline: F3.normal
    };
    this.options.pedantic ? (t4.block = ee.pedantic, t4.inline = F3.pedantic) : this.options.gfm && (t4.block = ee.gfm, this.options.breaks ? t4.inline = F3.breaks : t4.inline = F3.gfm), this.tokenizer.rules = t4;
  }
  static get rules() {
    return {
      block: ee,
      inline: F3
    };
  }
  static lex(e3, t4) {
    return new l3(t4).lex(e3);
  }
  static lexInline(e3, t4) {
    return new l3(t4).inlineTokens(e3);
  }
  lex(e3) {
    e3 = e3.replace(O.carriageReturn, `
`), this.blockTokens(e3, this.tokens);
    for (let t4 = 0; t4 < this.inlineQueue.length; t4++) {
      let n3 = this.inlineQueue[t4];
      this.state.inRawBlock = false, this.inlineTokens(n3.src, n3.tokens);
    }
    return this.inlineQueue = [], this.tokens;
  }
  blockTokens(e3, t4 = [], n3 = false) {
    this.tokenizer.lexer = this;
    let r3 = this.state.lastToken;
    this.options.pedantic && (e3 = e3.replace(O.tabCharGlobal, "    ").replace(O.spaceLine, ""));
    let s3 = 1 / 0, o3, i3 = this.options.gfm && !this.options.pedantic && this.tokenizer.paragraph === _3.prototype.paragraph;
    for (; e3; ) {
      if (e3.length < s3) s3 = e3.length;
      else {
        this.infiniteLoopError(e3.charCodeAt(0));
        break;
      }
      this.state.lastToken = t4.at(-1);
      let a3;
      if (this.options.extensions?.block?.some((u3) => (a3 = u3.call({
        lexer: this
      }, e3, t4)) ? (e3 = e3.substring(a3.raw.length), t4.push(a3), true) : false)) continue;
      if (a3 = this.tokenizer.space(e3)) {
        e3 = e3.substring(a3.raw.length);
        let u3 = t4.at(-1);
        a3.raw.length === 1 && u3 !== void 0 ? u3.raw += `
` : t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.code(e3)) {
        e3 = e3.substring(a3.raw.length);
        let u3 = t4.at(-1);
        u3?.type === "paragraph" || u3?.type === "text" ? (u3.raw += (u3.raw.endsWith(`
`) ? "" : `
`) + a3.raw, u3.text += `
` + a3.text, this.inlineQueue.at(-1).src = u3.text) : t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.fences(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.heading(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.hr(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.blockquote(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.list(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.html(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.def(e3)) {
        e3 = e3.substring(a3.raw.length);
        let u3 = t4.at(-1);
        u3?.type === "paragraph" || u3?.type === "text" ? (u3.raw += (u3.raw.endsWith(`
`) ? "" : `
`) + a3.raw, u3.text += `
` + a3.raw, this.inlineQueue.at(-1).src = u3.text) : (this.tokens.links[a3.tag] || (this.tokens.links[a3.tag] = {
          href: a3.href,
          title: a3.title
        }), t4.push(a3));
        continue;
      }
      if (a3 = this.tokenizer.table(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      if (a3 = this.tokenizer.lheading(e3)) {
        e3 = e3.substring(a3.raw.length), t4.push(a3);
        continue;
      }
      let c3 = e3;
      if (this.options.extensions?.startBlock) {
        let u3 = 1 / 0, d3 = e3.slice(1), h3;
        this.options.extensions.startBlock.forEach((p3) => {
          h3 = p3.call({
            lexer: this
          }, d3), typeof h3 == "number" && h3 >= 0 && (u3 = Math.min(u3, h3));
        }), u3 < 1 / 0 && u3 >= 0 && (c3 = e3.substring(0, u3 + 1));
      }
      if (this.state.top && (a3 = this.tokenizer.paragraph(c3))) {
        let u3 = t4.at(-1);
        (n3 || u3 === o3 && i3) && u3?.type === "paragraph" ? (u3.raw += (u3.raw.endsWith(`
`) ? "" : `
`) + a3.raw, u3.text += `
` + a3.text, this.inlineQueue.pop(), this.inlineQueue.at(-1).src = u3.text, o3 = u3) : (t4.push(a3), o3 = a3), n3 = c3.length !== e3.length, e3 = e3.substring(a3.raw.length);
        continue;
      }
      if (a3 = this.tokenizer.text(e3)) {
        e3 = e3.substring(a3.raw.length);
        let u3 = t4.at(-1);
        u3?.type === "text" ? (u3.raw += (u3.raw.endsWith(`
`) ? "" : `
`) + a3.raw, u3.text += `
` + a3.text, this.inlineQueue.pop(), this.inlineQueue.at(-1).src = u3.text) : t4.push(a3);
        continue;
      }
      if (e3) {
        this.infiniteLoopError(e3.charCodeAt(0));
        break;
      }
    }
    return this.state.top = true, this.state.lastToken = r3, t4;
  }
  inline(e3, t4 = []) {
    return this.inlineQueue.push({
      src: e3,
      tokens: t4
    }), t4;
  }
  linkInText(e3) {
    if (!e3.includes("[")) return false;
    let t4 = this.tokenizer.rules.inline.link;
    for (let n3 of e3.matchAll(this.tokenizer.rules.inline.blockSkip)) if (t4.test(n3[0]) && e3.charAt(n3.index - 1) !== "!") return true;
    for (let n3 of e3.matchAll(this.tokenizer.rules.inline.reflinkSearch)) {
      let r3 = n3[0], s3 = r3.lastIndexOf("[");
      if (!(r3.charAt(0) === "!" || !Object.hasOwn(this.tokens.links, W(r3.slice(s3 + 1, -1)))) && !(s3 > 1 && this.linkInText(r3.slice(1, s3 - 1)))) return true;
    }
    return false;
  }
  inlineTokens(e3, t4 = []) {
    this.tokenizer.lexer = this;
    let n3 = this.state.linkParenPossible;
    this.state.linkParenPossible = e3.includes(")");
    try {
      return this.#t(e3, t4);
    } finally {
      this.state.linkParenPossible = n3;
    }
  }
  #t(e3, t4) {
    let n3 = e3.includes("*") || e3.includes("_") || e3.includes("~"), r3 = n3 || this.options.hooks?.emStrongMask || this.tokenizer.emStrong !== _3.prototype.emStrong || this.tokenizer.del !== _3.prototype.del ? this.#r(e3) : e3;
    if (!n3) return this.#e(e3, r3, t4);
    qe(this.tokenizer, r3);
    try {
      return this.#e(e3, r3, t4);
    } finally {
      ve(this.tokenizer);
    }
  }
  #e(e3, t4, n3) {
    let r3 = false, s3 = "", o3 = 1 / 0;
    for (; e3; ) {
      if (e3.length < o3) o3 = e3.length;
      else {
        this.infiniteLoopError(e3.charCodeAt(0));
        break;
      }
      r3 || (s3 = ""), r3 = false;
      let i3;
      if (this.options.extensions?.inline?.some((u3) => (i3 = u3.call({
        lexer: this
      }, e3, n3)) ? (e3 = e3.substring(i3.raw.length), n3.push(i3), true) : false)) continue;
      if (i3 = this.tokenizer.escape(e3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (i3 = this.tokenizer.tag(e3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (i3 = this.tokenizer.link(e3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (i3 = this.tokenizer.reflink(e3, this.tokens.links)) {
        e3 = e3.substring(i3.raw.length);
        let u3 = n3.at(-1);
        i3.type === "text" && u3?.type === "text" ? (u3.raw += i3.raw, u3.text += i3.text) : n3.push(i3);
        continue;
      }
      let a3 = e3[0];
      if (a3 === "*" || a3 === "_") {
        let u3 = t4.length - e3.length;
        if (oe(this.tokenizer, t4, a3) <= u3) {
          let h3 = 1;
          for (; h3 < e3.length && e3.charCodeAt(h3) === a3.charCodeAt(0); ) h3++;
          let p3 = e3.substring(0, h3), k3 = n3.at(-1);
          k3?.type === "text" && !k3.escaped ? (k3.raw += p3, k3.text += p3) : n3.push({
            type: "text",
            raw: p3,
            text: p3,
            escaped: false
          }), e3 = e3.substring(h3), s3 = a3, r3 = true;
          continue;
        }
      } else if (a3 === "~") {
        let u3 = t4.length - e3.length;
        if (ae(this.tokenizer, t4) <= u3) {
          let h3 = 1;
          for (; h3 < e3.length && e3.charCodeAt(h3) === 126; ) h3++;
          let p3 = e3.substring(0, h3), k3 = n3.at(-1);
          k3?.type === "text" && !k3.escaped ? (k3.raw += p3, k3.text += p3) : n3.push({
            type: "text",
            raw: p3,
            text: p3,
            escaped: false
          }), e3 = e3.substring(h3), s3 = a3, r3 = true;
          continue;
        }
      }
      if (i3 = this.tokenizer.emStrong(e3, t4, s3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (i3 = this.tokenizer.codespan(e3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (i3 = this.tokenizer.br(e3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (i3 = this.tokenizer.del(e3, t4, s3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (i3 = this.tokenizer.autolink(e3)) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      if (!this.state.inLink && (i3 = this.tokenizer.url(e3))) {
        e3 = e3.substring(i3.raw.length), n3.push(i3);
        continue;
      }
      let c3 = e3;
      if (this.options.extensions?.startInline) {
        let u3 = 1 / 0, d3 = e3.slice(1), h3;
        this.options.extensions.startInline.forEach((p3) => {
          h3 = p3.call({
            lexer: this
          }, d3), typeof h3 == "number" && h3 >= 0 && (u3 = Math.min(u3, h3));
        }), u3 < 1 / 0 && u3 >= 0 && (c3 = e3.substring(0, u3 + 1));
      }
      if (i3 = this.tokenizer.inlineText(c3)) {
        e3 = e3.substring(i3.raw.length), i3.raw.slice(-1) !== "_" && (s3 = i3.raw.slice(-1)), r3 = true;
        let u3 = n3.at(-1);
        u3?.type === "text" ? (u3.raw += i3.raw, u3.text += i3.text) : n3.push(i3);
        continue;
      }
      if (e3) {
        this.infiniteLoopError(e3.charCodeAt(0));
        break;
      }
    }
    return n3;
  }
  #n(e3) {
    let { blockSkip: t4, tag: n3, autolink: r3 } = this.tokenizer.rules.inline, s3 = "", o3 = 0, i3;
    for (t4.lastIndex = 0; i3 = t4.exec(e3); ) {
      let a3 = i3.index + (i3[2] ? i3[2].length : 0), c3 = i3.index + i3[0].length;
      if (e3.charAt(a3) === "<") {
        let u3 = e3.slice(a3), d3 = n3.exec(u3) || r3.exec(u3);
        if (!d3) {
          t4.lastIndex = a3 + 1;
          continue;
        }
        c3 = a3 + d3[0].length, t4.lastIndex = c3;
      }
      s3 += e3.slice(o3, a3) + "[" + "a".repeat(c3 - a3 - 2) + "]", o3 = c3;
    }
    return s3 + e3.slice(o3);
  }
  #r(e3) {
    let t4 = e3;
    if (this.tokens.links && e3.includes("[")) {
      let n3 = this.tokenizer.rules.inline.reflinkSearch, r3 = (s3) => {
        let o3 = s3.lastIndexOf("[");
        if (!Object.hasOwn(this.tokens.links, W(s3.slice(o3 + 1, -1)))) return s3;
        if (o3 > 1 && s3.charAt(0) !== "!") {
          let i3 = s3.slice(1, o3 - 1);
          if (this.linkInText(i3)) return "[" + i3.replace(n3, r3) + "][" + "a".repeat(s3.length - o3 - 2) + "]";
        }
        return "[" + "a".repeat(s3.length - 2) + "]";
      };
      t4 = t4.replace(n3, r3);
    }
    return t4 = t4.replace(this.tokenizer.rules.inline.anyPunctuationOutsideCode, (n3, r3, s3) => s3 ? "+".repeat(n3.length) : r3 ? r3 + n3.slice(r3.length, -r3.length).replace(/`/g, "+") + r3 : n3), t4 = this.#n(t4), t4 = this.options.hooks?.emStrongMask?.call({
      lexer: this
    }, t4) ?? t4, t4;
  }
  infiniteLoopError(e3) {
    let t4 = "Infinite loop on byte: " + e3;
    if (this.options.silent) console.error(t4);
    else throw new Error(t4);
  }
};
var I2 = class {
  options;
  parser;
  constructor(e3) {
    this.options = e3 || S2;
  }
  space(e3) {
    return "";
  }
  code({ text: e3, lang: t4, escaped: n3 }) {
    let r3 = (t4 || "").match(O.notSpaceStart)?.[0], s3 = e3 ? e3.replace(O.endingNewline, "") + `
` : "";
    return r3 ? '<pre><code class="language-' + y3(r3) + '">' + (n3 ? s3 : y3(s3, true)) + `</code></pre>
` : "<pre><code>" + (n3 ? s3 : y3(s3, true)) + `</code></pre>
`;
  }
  blockquote({ tokens: e3 }) {
    return `<blockquote>
${this.parser.parse(e3)}</blockquote>
`;
  }
  html({ text: e3 }) {
    return e3;
  }
  def(e3) {
    return "";
  }
  heading({ tokens: e3, depth: t4 }) {
    return `<h${t4}>${this.parser.parseInline(e3)}</h${t4}>
`;
  }
  hr(e3) {
    return `<hr>
`;
  }
  list(e3) {
    let t4 = e3.ordered, n3 = e3.start, r3 = "";
    for (let i3 = 0; i3 < e3.items.length; i3++) {
      let a3 = e3.items[i3];
      r3 += this.listitem(a3);
    }
    let s3 = t4 ? "ol" : "ul", o3 = t4 && n3 !== 1 ? ' start="' + n3 + '"' : "";
    return "<" + s3 + o3 + `>
` + r3 + "</" + s3 + `>
`;
  }
  listitem(e3) {
    return `<li>${this.parser.parse(e3.tokens)}</li>
`;
  }
  checkbox({ checked: e3 }) {
    return "<input " + (e3 ? 'checked="" ' : "") + 'disabled="" type="checkbox"> ';
  }
  paragraph({ tokens: e3 }) {
    return `<p>${this.parser.parseInline(e3)}</p>
`;
  }
  table(e3) {
    let t4 = "", n3 = "";
    for (let s3 = 0; s3 < e3.header.length; s3++) n3 += this.tablecell(e3.header[s3]);
    t4 += this.tablerow({
      text: n3
    });
    let r3 = "";
    for (let s3 = 0; s3 < e3.rows.length; s3++) {
      let o3 = e3.rows[s3];
      n3 = "";
      for (let i3 = 0; i3 < o3.length; i3++) n3 += this.tablecell(o3[i3]);
      r3 += this.tablerow({
        text: n3
      });
    }
    return r3 && (r3 = `<tbody>${r3}</tbody>`), `<table>
<thead>
` + t4 + `</thead>
` + r3 + `</table>
`;
  }
  tablerow({ text: e3 }) {
    return `<tr>
${e3}</tr>
`;
  }
  tablecell(e3) {
    let t4 = this.parser.parseInline(e3.tokens), n3 = e3.header ? "th" : "td";
    return (e3.align ? `<${n3} align="${e3.align}">` : `<${n3}>`) + t4 + `</${n3}>
`;
  }
  strong({ tokens: e3 }) {
    return `<strong>${this.parser.parseInline(e3)}</strong>`;
  }
  em({ tokens: e3 }) {
    return `<em>${this.parser.parseInline(e3)}</em>`;
  }
  codespan({ text: e3 }) {
    return `<code>${y3(e3, true)}</code>`;
  }
  br(e3) {
    return "<br>";
  }
  del({ tokens: e3 }) {
    return `<del>${this.parser.parseInline(e3)}</del>`;
  }
  link({ href: e3, title: t4, text: n3, tokens: r3, autolink: s3 }) {
    let o3 = s3 ? y3(n3, true) : this.parser.parseInline(r3), i3 = xe(e3);
    if (i3 === null) return o3;
    e3 = y3(i3, s3);
    let a3 = '<a href="' + e3 + '"';
    return t4 && (a3 += ' title="' + y3(t4) + '"'), a3 += ">" + o3 + "</a>", a3;
  }
  image({ href: e3, title: t4, text: n3, tokens: r3 }) {
    r3 && (n3 = this.parser.parseInline(r3, this.parser.textRenderer));
    let s3 = xe(e3);
    if (s3 === null) return y3(n3);
    e3 = s3;
    let o3 = `<img src="${y3(e3)}" alt="${y3(n3)}"`;
    return t4 && (o3 += ` title="${y3(t4)}"`), o3 += ">", o3;
  }
  text(e3) {
    return "tokens" in e3 && e3.tokens ? this.parser.parseInline(e3.tokens) : "escaped" in e3 && e3.escaped ? e3.text : y3(e3.text);
  }
};
var z3 = class {
  parser;
  strong({ text: e3, tokens: t4 }) {
    return t4 ? this.parser.parseInline(t4, this) : e3;
  }
  em({ text: e3, tokens: t4 }) {
    return t4 ? this.parser.parseInline(t4, this) : e3;
  }
  codespan({ text: e3 }) {
    return e3;
  }
  del({ text: e3, tokens: t4 }) {
    return t4 ? this.parser.parseInline(t4, this) : e3;
  }
  html({ text: e3 }) {
    return e3;
  }
  text({ text: e3 }) {
    return e3;
  }
  link({ text: e3, tokens: t4 }) {
    return t4 ? this.parser.parseInline(t4, this) : e3;
  }
  image({ text: e3, tokens: t4 }) {
    return t4 ? this.parser.parseInline(t4, this) : e3;
  }
  br() {
    return `
`;
  }
  checkbox({ raw: e3 }) {
    return e3;
  }
};
var P2 = class l4 {
  options;
  renderer;
  textRenderer;
  constructor(e3) {
    this.options = e3 || S2, this.options.renderer = this.options.renderer || new I2(), this.renderer = this.options.renderer, this.renderer.options = this.options, this.renderer.parser = this, this.textRenderer = new z3(), this.textRenderer.parser = this;
  }
  static parse(e3, t4) {
    return new l4(t4).parse(e3);
  }
  static parseInline(e3, t4) {
    return new l4(t4).parseInline(e3);
  }
  parse(e3) {
    this.renderer.parser = this;
    let t4 = "";
    for (let n3 = 0; n3 < e3.length; n3++) {
      let r3 = e3[n3];
      if (this.options.extensions?.renderers?.[r3.type]) {
        let o3 = r3, i3 = this.options.extensions.renderers[o3.type].call({
          parser: this
        }, o3);
        if (i3 !== false || ![
          "space",
          "hr",
          "heading",
          "code",
          "table",
          "blockquote",
          "list",
          "checkbox",
          "html",
          "def",
          "paragraph",
          "text"
        ].includes(o3.type)) {
          t4 += i3 === false ? "" : i3 ?? "";
          continue;
        }
      }
      let s3 = r3;
      switch (s3.type) {
        case "space": {
          t4 += this.renderer.space(s3);
          break;
        }
        case "hr": {
          t4 += this.renderer.hr(s3);
          break;
        }
        case "heading": {
          t4 += this.renderer.heading(s3);
          break;
        }
        case "code": {
          t4 += this.renderer.code(s3);
          break;
        }
        case "table": {
          t4 += this.renderer.table(s3);
          break;
        }
        case "blockquote": {
          t4 += this.renderer.blockquote(s3);
          break;
        }
        case "list": {
          t4 += this.renderer.list(s3);
          break;
        }
        case "checkbox": {
          t4 += this.renderer.checkbox(s3);
          break;
        }
        case "html": {
          t4 += this.renderer.html(s3);
          break;
        }
        case "def": {
          t4 += this.renderer.def(s3);
          break;
        }
        case "paragraph": {
          t4 += this.renderer.paragraph(s3);
          break;
        }
        case "text": {
          t4 += this.renderer.text(s3);
          break;
        }
        default: {
          let o3 = 'Token with "' + s3.type + '" type was not found.';
          if (this.options.silent) return console.error(o3), "";
          throw new Error(o3);
        }
      }
    }
    return t4;
  }
  parseInline(e3, t4 = this.renderer) {
    this.renderer.parser = this;
    let n3 = "";
    for (let r3 = 0; r3 < e3.length; r3++) {
      let s3 = e3[r3];
      if (this.options.extensions?.renderers?.[s3.type]) {
        let i3 = this.options.extensions.renderers[s3.type].call({
          parser: this
        }, s3);
        if (i3 !== false || ![
          "escape",
          "html",
          "link",
          "image",
          "checkbox",
          "strong",
          "em",
          "codespan",
          "br",
          "del",
          "text"
        ].includes(s3.type)) {
          n3 += i3 === false ? "" : i3 ?? "";
          continue;
        }
      }
      let o3 = s3;
      switch (o3.type) {
        case "escape": {
          n3 += t4.text(o3);
          break;
        }
        case "html": {
          n3 += t4.html(o3);
          break;
        }
        case "link": {
          n3 += t4.link(o3);
          break;
        }
        case "image": {
          n3 += t4.image(o3);
          break;
        }
        case "checkbox": {
          n3 += t4.checkbox(o3);
          break;
        }
        case "strong": {
          n3 += t4.strong(o3);
          break;
        }
        case "em": {
          n3 += t4.em(o3);
          break;
        }
        case "codespan": {
          n3 += t4.codespan(o3);
          break;
        }
        case "br": {
          n3 += t4.br(o3);
          break;
        }
        case "del": {
          n3 += t4.del(o3);
          break;
        }
        case "text": {
          n3 += t4.text(o3);
          break;
        }
        default: {
          let i3 = 'Token with "' + o3.type + '" type was not found.';
          if (this.options.silent) return console.error(i3), "";
          throw new Error(i3);
        }
      }
    }
    return n3;
  }
};
var A3 = class {
  options;
  block;
  constructor(e3) {
    this.options = e3 || S2;
  }
  static passThroughHooks = /* @__PURE__ */ new Set([
    "preprocess",
    "postprocess",
    "processAllTokens",
    "emStrongMask"
  ]);
  static passThroughHooksRespectAsync = /* @__PURE__ */ new Set([
    "preprocess",
    "postprocess",
    "processAllTokens"
  ]);
  preprocess(e3) {
    return e3;
  }
  postprocess(e3) {
    return e3;
  }
  processAllTokens(e3) {
    return e3;
  }
  emStrongMask(e3) {
    return e3;
  }
  provideLexer(e3 = this.block) {
    return e3 ? w3.lex : w3.lexInline;
  }
  provideParser(e3 = this.block) {
    return e3 ? P2.parse : P2.parseInline;
  }
};
function M(l5, e3) {
  if (Array.isArray(e3)) for (let t4 = 0; t4 < e3.length; t4++) l5.push(e3[t4]);
  else l5.push(e3);
}
var ne = class {
  defaults = G3();
  options = this.setOptions;
  parse = this.parseMarkdown(true);
  parseInline = this.parseMarkdown(false);
  Parser = P2;
  Renderer = I2;
  TextRenderer = z3;
  Lexer = w3;
  Tokenizer = _3;
  Hooks = A3;
  constructor(...e3) {
    this.use(...e3);
  }
  walkTokens(e3, t4) {
    let n3 = [];
    for (let r3 of e3) switch (M(n3, t4.call(this, r3)), r3.type) {
      case "table": {
        let s3 = r3;
        for (let o3 of s3.header) M(n3, this.walkTokens(o3.tokens, t4));
        for (let o3 of s3.rows) for (let i3 of o3) M(n3, this.walkTokens(i3.tokens, t4));
        break;
      }
      case "list": {
        let s3 = r3;
        M(n3, this.walkTokens(s3.items, t4));
        break;
      }
      default: {
        let s3 = r3;
        this.defaults.extensions?.childTokens?.[s3.type] ? this.defaults.extensions.childTokens[s3.type].forEach((o3) => {
          let i3 = s3[o3].flat(1 / 0);
          M(n3, this.walkTokens(i3, t4));
        }) : s3.tokens && M(n3, this.walkTokens(s3.tokens, t4));
      }
    }
    return n3;
  }
  use(...e3) {
    let t4 = this.defaults.extensions || {
      renderers: /* @__PURE__ */ Object.create(null),
      childTokens: /* @__PURE__ */ Object.create(null)
    };
    return e3.forEach((n3) => {
      let r3 = {
        ...n3
      };
      if (r3.async = this.defaults.async || r3.async || false, n3.extensions && (n3.extensions.forEach((s3) => {
        if (!s3.name) throw new Error("extension name required");
        if ("renderer" in s3) {
          let o3 = t4.renderers[s3.name];
          o3 ? t4.renderers[s3.name] = function(...i3) {
            let a3 = s3.renderer.apply(this, i3);
            return a3 === false && (a3 = o3.apply(this, i3)), a3;
          } : t4.renderers[s3.name] = s3.renderer;
        }
        if ("tokenizer" in s3) {
          if (!s3.level || s3.level !== "block" && s3.level !== "inline") throw new Error("extension level must be 'block' or 'inline'");
          let o3 = t4[s3.level];
          o3 ? o3.unshift(s3.tokenizer) : t4[s3.level] = [
            s3.tokenizer
          ], s3.start && (s3.level === "block" ? t4.startBlock ? t4.startBlock.push(s3.start) : t4.startBlock = [
            s3.start
          ] : s3.level === "inline" && (t4.startInline ? t4.startInline.push(s3.start) : t4.startInline = [
            s3.start
          ]));
        }
        "childTokens" in s3 && s3.childTokens && (t4.childTokens[s3.name] = s3.childTokens);
      }), r3.extensions = t4), n3.renderer) {
        let s3 = this.defaults.renderer || new I2(this.defaults);
        for (let o3 in n3.renderer) {
          if (!(o3 in s3)) throw new Error(`renderer '${o3}' does not exist`);
          if ([
            "options",
            "parser"
          ].includes(o3)) continue;
          let i3 = o3, a3 = n3.renderer[i3], c3 = s3[i3];
          s3[i3] = (...u3) => {
            let d3 = a3.apply(s3, u3);
            return d3 === false && (d3 = c3.apply(s3, u3)), d3 === false ? "" : d3 ?? "";
          };
        }
        r3.renderer = s3;
      }
      if (n3.tokenizer) {
        let s3 = this.defaults.tokenizer || new _3(this.defaults);
        for (let o3 in n3.tokenizer) {
          if (!(o3 in s3)) throw new Error(`tokenizer '${o3}' does not exist`);
          if ([
            "options",
            "rules",
            "lexer"
          ].includes(o3)) continue;
          let i3 = o3, a3 = n3.tokenizer[i3], c3 = s3[i3];
          s3[i3] = (...u3) => {
            let d3 = a3.apply(s3, u3);
            return d3 === false && (d3 = c3.apply(s3, u3)), d3;
          };
        }
        r3.tokenizer = s3;
      }
      if (n3.hooks) {
        let s3 = this.defaults.hooks || new A3();
        for (let o3 in n3.hooks) {
          if (!(o3 in s3)) throw new Error(`hook '${o3}' does not exist`);
          if ([
            "options",
            "block"
          ].includes(o3)) continue;
          let i3 = o3, a3 = n3.hooks[i3], c3 = s3[i3];
          A3.passThroughHooks.has(o3) ? s3[i3] = (u3) => {
            if (s3.options.async && A3.passThroughHooksRespectAsync.has(o3)) return (async () => {
              let h3 = await a3.call(s3, u3);
              return c3.call(s3, h3);
            })();
            let d3 = a3.call(s3, u3);
            return c3.call(s3, d3);
          } : s3[i3] = (...u3) => {
            if (s3.options.async) return (async () => {
              let h3 = await a3.apply(s3, u3);
              return h3 === false && (h3 = await c3.apply(s3, u3)), h3;
            })();
            let d3 = a3.apply(s3, u3);
            return d3 === false && (d3 = c3.apply(s3, u3)), d3;
          };
        }
        r3.hooks = s3;
      }
      if (n3.walkTokens) {
        let s3 = this.defaults.walkTokens, o3 = n3.walkTokens;
        r3.walkTokens = function(i3) {
          let a3 = [];
          return M(a3, o3.call(this, i3)), s3 && M(a3, s3.call(this, i3)), a3;
        };
      }
      this.defaults = {
        ...this.defaults,
        ...r3
      };
    }), this;
  }
  setOptions(e3) {
    return this.defaults = {
      ...this.defaults,
      ...e3
    }, this;
  }
  lexer(e3, t4) {
    return w3.lex(e3, t4 ?? this.defaults);
  }
  parser(e3, t4) {
    return P2.parse(e3, t4 ?? this.defaults);
  }
  parseMarkdown(e3) {
    return (n3, r3) => {
      let s3 = {
        ...r3
      }, o3 = {
        ...this.defaults,
        ...s3
      }, i3 = this.onError(!!o3.silent, !!o3.async);
      if (this.defaults.async === true && s3.async === false) return i3(new Error("marked(): The async option was set to true by an extension. Remove async: false from the parse options object to return a Promise."));
      if (typeof n3 > "u" || n3 === null) return i3(new Error("marked(): input parameter is undefined or null"));
      if (typeof n3 != "string") return i3(new Error("marked(): input parameter is of type " + Object.prototype.toString.call(n3) + ", string expected"));
      if (o3.hooks && (o3.hooks.options = o3, o3.hooks.block = e3), o3.async) return (async () => {
        let a3 = o3.hooks ? await o3.hooks.preprocess(n3) : n3, u3 = await (o3.hooks ? await o3.hooks.provideLexer(e3) : e3 ? w3.lex : w3.lexInline)(a3, o3), d3 = o3.hooks ? await o3.hooks.processAllTokens(u3) : u3;
        o3.walkTokens && await Promise.all(this.walkTokens(d3, o3.walkTokens));
        let p3 = await (o3.hooks ? await o3.hooks.provideParser(e3) : e3 ? P2.parse : P2.parseInline)(d3, o3);
        return o3.hooks ? await o3.hooks.postprocess(p3) : p3;
      })().catch(i3);
      try {
        o3.hooks && (n3 = o3.hooks.preprocess(n3));
        let c3 = (o3.hooks ? o3.hooks.provideLexer(e3) : e3 ? w3.lex : w3.lexInline)(n3, o3);
        o3.hooks && (c3 = o3.hooks.processAllTokens(c3)), o3.walkTokens && this.walkTokens(c3, o3.walkTokens);
        let d3 = (o3.hooks ? o3.hooks.provideParser(e3) : e3 ? P2.parse : P2.parseInline)(c3, o3);
        return o3.hooks && (d3 = o3.hooks.postprocess(d3)), d3;
      } catch (a3) {
        return i3(a3);
      }
    };
  }
  onError(e3, t4) {
    return (n3) => {
      if (n3.message += `
Please report this to https://github.com/markedjs/marked.`, e3) {
        let r3 = "<p>An error occurred:</p><pre>" + y3(n3.message + "", true) + "</pre>";
        return t4 ? Promise.resolve(r3) : r3;
      }
      if (t4) return Promise.reject(n3);
      throw n3;
    };
  }
};
var v3 = new ne();
function x2(l5, e3) {
  return v3.parse(l5, e3);
}
x2.options = x2.setOptions = function(l5) {
  return v3.setOptions(l5), x2.defaults = v3.defaults, ue(x2.defaults), x2;
};
x2.getDefaults = G3;
x2.defaults = S2;
function jt(...l5) {
  return v3.use(...l5), x2.defaults = v3.defaults, ue(x2.defaults), x2;
}
x2.use = jt;
x2.walkTokens = function(l5, e3) {
  return v3.walkTokens(l5, e3);
};
x2.parseInline = v3.parseInline;
x2.Parser = P2;
x2.parser = P2.parse;
x2.Renderer = I2;
x2.TextRenderer = z3;
x2.Lexer = w3;
x2.lexer = w3.lex;
x2.Tokenizer = _3;
x2.Hooks = A3;
x2.parse = x2;
var En = x2.options;
var zn = x2.setOptions;
var Mn = x2.walkTokens;
var Bn = x2.parseInline;
var qn = P2.parse;
var vn = w3.lex;

var MAX_CHARS2 = 2e5;
var MAX_DEPTH = 24;
function safeLink(href) {
  try {
    const { protocol, href: whole2 } = new URL(href);
    return [
      "http:",
      "https:",
      "mailto:"
    ].includes(protocol) ? whole2 : null;
  } catch {
    return null;
  }
}
var ENTITIES = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'"
};
function plain(text2) {
  return text2.replaceAll(/&(amp|lt|gt|quot|#39);/g, (whole2, name) => ENTITIES[name] ?? whole2);
}
function link(href, content) {
  const safe = safeLink(href);
  if (safe === null) return m2`<span class="dead-link">${content}</span>`;
  return m2`<a href=${safe} target="_blank" rel="noopener noreferrer nofollow">${content}</a>`;
}
function listOf({ ordered, start, items }, depth) {
  const shown = items.map(({ tokens, task, checked }) => m2`<li>${task && (checked ? "\u2611 " : "\u2610 ")}${nodesOf(tokens, depth + 1)}</li>`);
  const from = typeof start === "number" && start !== 1 ? {
    start
  } : {};
  return ordered ? m2`<ol ...${from}>${shown}</ol>` : m2`<ul>${shown}</ul>`;
}
function tableOf({ header, rows }, depth) {
  const cells = (row, tag) => row.map(({ tokens }) => m2`<${tag}>${nodesOf(tokens, depth + 1)}</${tag}>`);
  return m2`
    <div class="table" role="region" aria-label="Table" tabindex="0">
      <table>
        <thead>
          <tr>${cells(header, "th")}</tr>
        </thead>
        <tbody>${rows.map((row) => m2`<tr>${cells(row, "td")}</tr>`)}</tbody>
      </table>
    </div>
  `;
}
function nodeOf(found, depth) {
  const token = found;
  const within = () => nodesOf("tokens" in token ? token.tokens ?? [] : [], depth + 1);
  switch (token.type) {
    case "space":
    case "def":
      return "";
    case "paragraph":
      return m2`<p>${within()}</p>`;
    case "heading":
      return m2`<p class=${`md-h md-h${Math.min(4, token.depth)}`}>${within()}</p>`;
    case "code":
      return m2`<pre tabindex="0" aria-label="Code">${token.text}</pre>`;
    case "blockquote":
      return m2`<blockquote>${within()}</blockquote>`;
    case "list":
      return listOf(token, depth);
    case "table":
      return tableOf(token, depth);
    case "hr":
      return m2`<hr />`;
    case "strong":
      return m2`<strong>${within()}</strong>`;
    case "em":
      return m2`<em>${within()}</em>`;
    case "del":
      return m2`<del>${within()}</del>`;
    case "codespan":
      return m2`<code>${token.text}</code>`;
    case "br":
      return m2`<br />`;
    case "link":
      return link(token.href, within());
    case "image":
      return link(token.href, [
        `[picture: ${plain(token.text || token.href)}]`
      ]);
    case "text":
      return "tokens" in token && token.tokens !== void 0 ? m2`<span>${within()}</span>` : plain(token.text);
    case "escape":
      return token.text;
    default:
      return token.raw;
  }
}
function nodesOf(tokens, depth) {
  return depth > MAX_DEPTH ? tokens.map(({ raw }) => raw) : tokens.map((token) => nodeOf(token, depth));
}
function markdown(text2) {
  const written = () => [
    m2`<pre tabindex="0" aria-label="Text">${text2}</pre>`
  ];
  if (text2.length > MAX_CHARS2) return written();
  try {
    return nodesOf(new w3({
      gfm: true,
      breaks: true
    }).lex(text2), 0);
  } catch (error) {
    if (error instanceof RangeError) return written();
    throw error;
  }
}

var GLANCE = 90;
var STATES2 = {
  writing: "is being written",
  running: "running",
  waiting: "waits for you",
  ok: "done",
  error: "error",
  aborted: "aborted"
};
var MOST = 2e4;
function clipped(text2) {
  const left = text2.length - MOST;
  return left > 0 ? `${text2.slice(0, MOST)}
\u2026 and ${plural(left, "more character")}, in the log` : text2;
}
function glanceAt(args) {
  let text2 = args.slice(0, MOST);
  try {
    const parsed = JSON.parse(args);
    if (typeof parsed === "object" && parsed !== null) {
      text2 = Object.values(parsed).map((value) => typeof value === "string" ? value : JSON.stringify(value)).join(" \xB7 ");
    }
  } catch {
  }
  return glance(text2, GLANCE);
}
function Call({ call }) {
  const { name, args, state: state2, output, isShortened, ms, progress } = call;
  const took = ms === null || ms < 1e3 ? "" : ` \xB7 ${(ms / 1e3).toFixed(1)} s`;
  return m2`
    <details class=${`call ${state2}`}>
      <summary><span class="dot" aria-hidden="true"></span><b>${name}</b> <span class="glance">${glanceAt(args)}</span>
          <span class="state">${STATES2[state2]}${took}</span></summary>
      <div class="call-body">
          <p class="fine">Arguments · <code>${call.id}</code></p>
          <pre tabindex="0" aria-label="Arguments">${clipped(args)}</pre>
          ${progress !== null && m2`<p class="fine">${progress}</p>`}
          ${output !== null && m2`
            <p class="fine">Result${isShortened ? ", of which the model was shown a shortened form" : ""}</p>
            <pre tabindex="0" aria-label="Result">${output === "" ? "(empty)" : clipped(output)}</pre>
          `}
        </div>
    </details>
  `;
}
function sayMark(mark) {
  const { phase, pairs, method, tokensBefore, tokensAfter, reason, resolved } = mark;
  const why = sayReason(reason);
  switch (phase) {
    case "applied": {
      const moved = pairs === 0 ? method === "trim" ? "results shortened" : "older messages moved into the summary" : `${plural(pairs, "call")} moved into the summary`;
      const sizes = tokensBefore === null || tokensAfter === null ? "" : `, ${grouped(tokensBefore)} \u2192 ${grouped(tokensAfter)} tokens`;
      return `Compacted: ${moved}${sizes}${resolved === null ? "" : ". It had been put off before"}`;
    }
    case "deferred":
      return `Compaction put off: ${why}`;
    case "rejected":
      return `Compaction thrown away: ${why}. The context stays as it was`;
    case "exhausted":
      return `The window is full: ${why}`;
    default:
      return phase;
  }
}
function draw(item) {
  switch (item.kind) {
    case "user":
      return m2`
        <article class="said" aria-label="You">
          <p>${item.text}</p>
        </article>
      `;
    case "text":
      return m2`<article class="answer" aria-label="Assistant">${markdown(item.text)}</article>`;
    case "reasoning":
      return m2`
        <details class="reasoning">
          <summary>Reasoning</summary>
          <div class="answer">${markdown(item.text)}</div>
        </details>
      `;
    case "call":
      return m2`<${Call} call=${item} />`;
    case "compaction":
      return m2`<p class=${`mark ${item.mark.phase}`}><span>${sayMark(item.mark)}</span></p>`;
    case "note":
      return m2`<p class=${`notice ${item.tone}`} role=${item.tone === "bad" ? "alert" : "status"}>${item.text}</p>`;
    default:
      return item;
  }
}
var drawn = /* @__PURE__ */ new WeakMap();
function drawItem(item) {
  let node = drawn.get(item);
  if (node === void 0) {
    node = m2`<li key=${item.id}>${draw(item)}</li>`;
    drawn.set(item, node);
  }
  return node;
}

var HEIGHT = 132;
var PAD = {
  left: 8,
  right: 8,
  top: 10,
  bottom: 18
};
var LISTED = 40;
function sampled(points, most) {
  const known = points.flatMap((tokens, at2) => tokens === null ? [] : [
    {
      step: at2 + 1,
      tokens
    }
  ]);
  const each = Math.ceil(known.length / Math.max(1, most));
  if (each <= 1) return known;
  const kept = [];
  for (let at2 = 0; at2 < known.length; at2 += each) {
    const [first, ...others] = known.slice(at2, at2 + each);
    if (first !== void 0) kept.push(others.reduce((a3, b) => b.tokens > a3.tokens ? b : a3, first));
  }
  return kept;
}
function pathOf2(places) {
  return places.map(({ x: x3, y: y4 }, at2) => `${at2 === 0 ? "M" : "L"}${x3.toFixed(1)} ${y4.toFixed(1)}`).join("");
}
var KINDS = [
  {
    kind: "applied",
    noun: "compaction",
    phases: [
      "applied"
    ]
  },
  {
    kind: "deferred",
    noun: "deferral",
    phases: [
      "deferred"
    ]
  },
  {
    kind: "rejected",
    noun: "rejection",
    phases: [
      "rejected",
      "exhausted"
    ]
  }
];
function tally({ marks, isFromLog }) {
  return KINDS.flatMap(({ kind, noun, phases }) => {
    const count = marks.filter(({ phase }) => phases.includes(phase)).length;
    if (kind === "applied" || !isFromLog) return [
      {
        kind,
        text: plural(count, noun)
      }
    ];
    return count === 0 ? [] : [
      {
        kind,
        text: `${noun}s`
      }
    ];
  });
}
function sayAll({ items }) {
  return `Tokens over ${plural(items.points.length, "step")}: ${tally(items).map(({ text: text2 }) => text2).join(", ")}`;
}
function Timeline(props) {
  const { items: { points, marks }, meter } = props;
  const box = T2(null);
  const [width, setWidth] = d2(600);
  A2(() => {
    const { current } = box;
    if (current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(200, entry?.contentRect.width ?? 600)));
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  const top = Math.max(meter.window, ...points.map((tokens) => tokens ?? 0));
  const x3 = (step) => PAD.left + (width - PAD.left - PAD.right) * (step - 1) / Math.max(1, points.length - 1);
  const y4 = (tokens) => HEIGHT - PAD.bottom - (HEIGHT - PAD.top - PAD.bottom) * tokens / top;
  const places = sampled(points, width / 2).map(({ step, tokens }) => ({
    x: x3(step),
    y: y4(tokens)
  }));
  const floor = y4(0);
  const area = places.length < 2 ? "" : `${pathOf2(places)}L${places.at(-1)?.x.toFixed(1)} ${floor}L${places[0]?.x.toFixed(1)} ${floor}Z`;
  const level = (tokens, name) => m2`
      <line class=${`level ${name}-at`} x1=${PAD.left} x2=${width - PAD.right} y1=${y4(tokens)} y2=${y4(tokens)} />
      <text class="axis" x=${PAD.left + 2} y=${y4(tokens) - 4}>${name}</text>
    `;
  const draw2 = (mark) => {
    const at2 = x3(Math.max(1, mark.step));
    if (mark.phase === "applied") {
      return m2`
        <g class="applied">
          <line x1=${at2} x2=${at2} y1=${y4(mark.tokensBefore ?? meter.compactAt)} y2=${y4(mark.tokensAfter ?? 0)} />
          <path d=${`M${at2 - 4} ${floor + 3}h8l-4 7z`} />
        </g>
      `;
    }
    if (mark.phase === "deferred") {
      return m2`<path class="deferred" d=${`M${at2} ${floor + 2}l4.5 4.5l-4.5 4.5l-4.5 -4.5z`} />`;
    }
    return m2`<path class="rejected" d=${`M${at2 - 4} ${floor + 3}l8 8m0 -8l-8 8`} />`;
  };
  return m2`<section class="card timeline" aria-labelledby="timeline-title">
    <h2 id="timeline-title">How it went</h2>
    <div ref=${box}>
      ${points.length === 0 ? m2`<p class="fine">Each step of the agent adds a point here.</p>` : m2`<svg width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${sayAll(props)}>
        ${level(meter.compactAt, "compact")}${level(meter.stopAt, "stop")}
        <path class="area" d=${area} /><path class="line" d=${pathOf2(places)} />
        ${places.length === 1 && m2`<circle class="point" cx=${places[0]?.x} cy=${places[0]?.y} r="3" />`}
        ${marks.map(draw2)}
      </svg>`}
    </div>
    <ul class="legend">
      <li><span class="swatch line-mark"></span>tokens over ${plural(points.length, "step")}</li>
      ${tally(props.items).map(({ kind, text: text2 }) => m2`<li><span class=${`swatch ${kind}-mark`}></span>${text2}</li>`)}
    </ul>
    ${marks.length > 0 && m2`
      <details>
        <summary>In words</summary>
        <ol class="marks">${marks.slice(-LISTED).map((mark) => m2`<li>step ${grouped(mark.step)}: ${sayMark(mark)}</li>`)}</ol>
      </details>
    `}
  </section>`;
}

var CUT_MS = 900;
var BLOCK_WIDTH2 = 5;
var LATE = 0.7;
function useScene(context) {
  const last = T2(context);
  const [cutting, setCutting] = d2(null);
  A2(() => {
    const before = last.current;
    last.current = context;
    if (context.view <= before.view || context.cut <= before.cut) return;
    setCutting({
      context: before,
      cutAt: context.cut
    });
  }, [
    context
  ]);
  A2(() => {
    if (cutting === null) return;
    const timer2 = setTimeout(() => setCutting(null), CUT_MS);
    return () => clearTimeout(timer2);
  }, [
    cutting
  ]);
  return cutting ?? {
    context,
    cutAt: null
  };
}
function Window({ context: now, holds, chosen, onChoose }) {
  const { context, cutAt } = useScene(now);
  const { meter, legalCuts, cut, flag } = context;
  const atoms = windowAtoms(context);
  const [range, setRange] = d2(null);
  A2(() => setRange(null), [
    now.view
  ]);
  const say = (block, hasCut) => sayBlock2(block, hasCut, holds);
  const share = (tokens) => `${Math.min(100, tokens / meter.window * 100)}%`;
  const place = (tokens) => ({
    left: share(tokens),
    "--at": Math.min(1, tokens / meter.window)
  });
  const limit = (name, tokens) => `limit ${name}${tokens > LATE * meter.window ? " late" : ""}`;
  const cuts = new Set(legalCuts.filter((at3) => at3 > cut));
  const choose = ({ first: first2, end: end2, from }) => {
    if (end2 - first2 > 1) setRange({
      first: first2,
      end: end2
    });
    else if (from >= SUMMARY) onChoose(from);
  };
  const at2 = atoms.findIndex(({ from }) => from === chosen);
  const { first, end } = range === null ? {
    first: 0,
    end: atoms.length
  } : range;
  const style = range === null ? {
    width: share(meter.tokens)
  } : {
    width: "100%"
  };
  return m2`<section class="card window" aria-labelledby="window-title">
    <h2 id="window-title">What the model sees</h2>
    <p class="meter">${cutAt === null ? sayMeter(meter) : "A cut: what stands in front of it makes room for lines of the summary"}</p>
    ${range !== null && m2`<p class="crumbs"><button type="button" onClick=${() => setRange(null)}>Whole window</button>
      <span>${end - first} of ${atoms.length} blocks</span></p>`}
    <div class=${`room${cutAt === null ? "" : " cutting"}`}>
      <div class="used" style=${style}>
        <${Strip} label="The window, block by block" atoms=${atoms} first=${first} end=${Math.min(end, atoms.length)}
          cuts=${cuts} faults=${[]} chosen=${at2 < 0 ? null : at2} cutAt=${cutAt} blockWidth=${BLOCK_WIDTH2}
          say=${say} onChoose=${choose} />
      </div>
      ${range === null && m2`
      <i class=${limit("compact-at", meter.compactAt)} style=${place(meter.compactAt)}><span>compact<b> ${grouped(meter.compactAt)}</b></span></i>
      <i class=${limit("stop-at", meter.stopAt)} style=${place(meter.stopAt)}><span>stop<b> ${grouped(meter.stopAt)}</b></span></i>
    `}
    </div>
    ${flag !== null && m2`<p class="notice put-off" role="status">A compaction is due and was put off: no legal cut was at hand. It is
      made as soon as there is one.</p>`}
  </section>`;
}

function ContextPanel({ session, client }) {
  const { context, items, name } = session;
  const [chosen, setChosen] = d2(null);
  const panel = T2(null);
  const details = T2(null);
  A2(() => setChosen(null), [
    session
  ]);
  A2(() => {
    if (chosen !== null) details.current?.scrollIntoView?.({
      block: "nearest"
    });
  }, [
    chosen
  ]);
  if (context === null) {
    return m2`
      <div class="context">
        <section class="card">
          <h2>What the model sees</h2>
          <p
            class="lead">Nothing yet. With the first message a bar appears here: all that the model is shown, as a share of
              all that it could be shown.</p>
        </section>
        <${Explained} />
      </div>
    `;
  }
  const holds = (seq) => items.holds(seq);
  const choose = (from) => setChosen(from === chosen ? null : from);
  const onKey = (event) => {
    if (event.key !== "Escape" || chosen === null) return;
    panel.current?.querySelector('.block[aria-pressed="true"]')?.focus();
    setChosen(null);
  };
  return m2`<div class="context" role="region" aria-label="Context" tabindex="0" ref=${panel} onKeyDown=${onKey}>
    <${Window} key=${name} context=${context} holds=${holds} chosen=${chosen} onChoose=${choose} />
    ${chosen !== null && m2`
      <div ref=${details} class="behind">
        <${Details} client=${client} session=${name}
          context=${context} chosen=${chosen} onClose=${() => setChosen(null)} />
      </div>
    `}
    <${Log} key=${`log ${name}`} context=${context} holds=${holds} chosen=${chosen} onChoose=${choose} />
    <${Timeline} items=${items} meter=${context.meter} />
    <${Explained} />
  </div>`;
}
function Explained() {
  return m2`
    <section class="card" aria-labelledby="legend-title">
      <h2 id="legend-title">How to read this</h2>
      <${Legend} />
    </section>
  `;
}

function outputOf(text2) {
  try {
    return JSON.parse(text2);
  } catch {
    return text2;
  }
}
function Waiting({ call, isShut, onAnswer }) {
  const { ref, name, input, reason } = call;
  const [text2, setText] = d2("");
  const [isSent, setSent] = d2(false);
  const send = (answer) => {
    setSent(true);
    onAnswer(answer);
  };
  const isApproval = reason === "approval";
  const id = `answer-${ref}`;
  return m2`
    <section class="card waiting" aria-label=${`${name} waits`}>
      <h3>${isApproval ? m2`May <code>${name}</code> run?` : m2`<code>${name}</code> is yours to run`}</h3>
      <pre tabindex="0" aria-label="Arguments">${sayValue2(input)}</pre>
      <label for=${id}>${isApproval ? "Why not, for the model (optional)" : "Its result, as text or JSON"}</label>
      <textarea id=${id} rows=${isApproval ? 1 : 3} value=${text2} disabled=${isSent}
        onInput=${(event) => setText(event.target.value)}></textarea>
      <p class="actions">${isApproval ? m2`
          <button type="button" class="main" disabled=${isSent || isShut}
            onClick=${() => send({
    approval: {
      ref,
      approved: true
    }
  })}>Allow</button>
          <button type="button" disabled=${isSent || isShut} onClick=${() => send({
    approval: {
      ref,
      approved: false,
      ...text2.trim() === "" ? {} : {
        reason: text2.trim()
      }
    }
  })}>
                    Do not allow</button>
        ` : m2`
          <button type="button" class="main" disabled=${isSent || isShut}
            onClick=${() => send({
    result: {
      ref,
      output: outputOf(text2)
    }
  })}>Send the result</button>
          <button type="button" disabled=${isSent || isShut || text2.trim() === ""}
            onClick=${() => send({
    result: {
      ref,
      error: text2
    }
  })}>Send it as an error</button>
        `}</p>
    </section>
  `;
}
function Pending({ pending, isShut, onAnswer }) {
  if (pending.length === 0) return null;
  return m2`<div class="pending" role="group" aria-label="Calls that wait for you">${pending.map((call) => m2`<${Waiting} key=${call.ref} call=${call} isShut=${isShut} onAnswer=${onAnswer} />`)}</div>`;
}

var PAGE2 = 120;
var NEAR_END = 80;
function Welcome({ hasDemo, onDemo }) {
  return m2`<div class="welcome">
    <h2>Say something, and watch the context</h2>
    <p class="lead">The agent's answer streams in here. Beside it you see all that the model is shown, and how it is cut
      to size without a tool call ever losing its result.</p>
    ${hasDemo && m2`
      <p class="actions"><button type="button" class="main" onClick=${onDemo}>Watch the demo</button></p>
      <p
        class="fine">One long turn of a scripted agent: over 180 tool calls through a window of 10,000 tokens. It takes
              half a minute and costs nothing.</p>
    `}
  </div>`;
}
function Composer({ session, agents }) {
  const [text2, setText] = d2("");
  const [agent, setAgent] = d2(null);
  const { standing } = session;
  const isRunning = standing === "running";
  const isShut = standing === "loading" || standing === "paused" || standing === "failed";
  const send = () => {
    if (text2.trim() === "" || isShut) return;
    void session.send(text2, agent);
    setText("");
  };
  const onKey = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  const placeholder = standing === "paused" ? "A call waits: answer it above, or stop the turn" : isRunning ? "Say something to the running turn" : "Message";
  return m2`<form class="composer" onSubmit=${(event) => {
    event.preventDefault();
    send();
  }}>
    ${session.agent === null && agents.length > 1 && m2`<label class="agent">Agent
      <select onChange=${(event) => setAgent(event.target.value)}>
        ${agents.map((name) => m2`<option value=${name}>${name}</option>`)}</select></label>`}
    <textarea aria-label="Message" rows="2" placeholder=${placeholder} value=${text2}
      readonly=${standing === "paused"} onKeyDown=${onKey}
      onInput=${(event) => setText(event.target.value)}></textarea>
    <div class="send">
      ${(isRunning || standing === "paused") && m2`<button type="button" disabled=${session.isStopping} onClick=${() => void session.stop()}>Stop</button>`}
      <button type="submit" class="main" disabled=${isShut || text2.trim() === ""}>Send</button>
    </div>
  </form>`;
}
function sayStanding({ standing, isStopping, pending }) {
  if (standing === "running") return isStopping ? "Stopping \u2026" : "Working \u2026";
  if (standing !== "paused") return "";
  const [first] = pending;
  return pending.length === 1 ? `A call waits for you: ${first?.name}` : `${pending.length} calls wait for you`;
}
function Conversation({ session, agents, version, hasDemo, onDemo }) {
  const [shown, setShown] = d2(PAGE2);
  const list = T2(null);
  const isAtEnd = T2(true);
  const { items: { all }, standing, pending } = session;
  const follow = () => {
    const { current } = list;
    if (current === null || !isAtEnd.current) return;
    const waiting = current.querySelector(".pending")?.getBoundingClientRect().top;
    if (waiting === void 0) current.scrollTop = current.scrollHeight;
    else current.scrollTop += waiting - current.getBoundingClientRect().top;
  };
  F2(follow, [
    version,
    session
  ]);
  A2(() => setShown(PAGE2), [
    session
  ]);
  const first = Math.max(0, all.length - shown);
  return m2`
    <section class="conversation" aria-label="Conversation">
      <div class="scroll" ref=${list} tabindex="0" role="region" aria-label="What was said"
        onScroll=${() => {
    const { current } = list;
    if (current === null) return;
    isAtEnd.current = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_END;
  }}>
          ${all.length === 0 && standing === "idle" && m2`<${Welcome} hasDemo=${hasDemo} onDemo=${onDemo} />`}
          ${standing === "loading" && m2`<p class="fine" role="status">Reading the session …</p>`}
          ${first > 0 && m2`<p><button type="button" onClick=${() => setShown(shown + 4 * PAGE2)}>Show earlier (${grouped(first)} more)</button></p>`}
          <ol class="items">${all.slice(first).map(drawItem)}</ol>
          <${Pending} pending=${pending} isShut=${standing !== "paused"} onAnswer=${(answer) => {
    list.current?.focus({
      preventScroll: true
    });
    isAtEnd.current = true;
    void session.answer(answer);
  }} />
          ${session.unheard.map((text2) => m2`<p class="unheard"><b>Said, for the next step:</b> ${text2}</p>`)}
          ${session.notice !== "" && m2`<p class="notice" role="alert">${session.notice}</p>`}
          <p class="working" role="status">${sayStanding(session)}</p>
        </div>
      <${Composer} key=${session.name} session=${session} agents=${agents} />
    </section>
  `;
}

var ENDS = /^[\s\p{Cf}]+|[\s\p{Cf}]+$/gu;
function keyOf(text2) {
  const key = text2.replace(ENDS, "");
  return /^[\x21-\x7e]*$/.test(key) ? key : null;
}

var SESSION_ID = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/;

var STATES3 = {
  writing: "being written",
  running: "running",
  waiting: "waiting",
  ok: "done",
  error: "failed",
  aborted: "aborted"
};
var GLANCE2 = 60;
var ENDS2 = {
  length: "The answer was cut off: it had reached its largest size.",
  "content-filter": "The provider held the answer back.",
  "max-steps": "The turn ended: it had used all its steps.",
  aborted: "The turn was stopped."
};
var Items = class {
  #items = [];
  #calls = /* @__PURE__ */ new Map();
  /** Tokens that each step of the session came to, null where nobody has told. */
  points = [];
  /** Compactions, deferrals and rejections. */
  marks = [];
  /** Whether any step was read from the log, which keeps of compactions only those that were applied. */
  isFromLog = false;
  /** What entries hold, by number: places of their items. */
  #places = /* @__PURE__ */ new Map();
  #next = 0;
  /** All of them, in order. */
  get all() {
    return this.#items;
  }
  /** What an entry holds, in a few words; empty where nobody has told which items are of it. */
  holds(seq) {
    const told = (this.#places.get(seq) ?? []).map((at2) => {
      const item = this.#items[at2];
      if (item?.kind === "call") return `${item.name} ${STATES3[item.state]}`;
      return item !== void 0 && "text" in item ? `\u201C${glance(item.text.slice(0, 4 * GLANCE2), GLANCE2)}\u201D` : "";
    });
    return told.slice(0, 3).join(", ") + (told.length > 3 ? ` and ${told.length - 3} more` : "");
  }
  /** Takes in an entry of the log. */
  entry(entry) {
    if (entry.compacted !== void 0) this.#mark("applied", entry.compacted);
    if (entry.kind === "user") {
      const { ref: ref2, message: { content: content2 }, pinned = false } = entry;
      return this.#push({
        kind: "user",
        id: ref2,
        text: sayContent(content2),
        isPinned: pinned
      });
    }
    if (entry.kind === "result") {
      const { call, status, output, ms, cap } = entry;
      return this.#call(call, {
        state: status,
        output: sayOutput(output),
        ms,
        isShortened: cap !== void 0,
        name: entry.toolName
      });
    }
    const { usage, message: { content }, calls = [], ref } = entry;
    this.isFromLog = true;
    this.points.push(usage === void 0 ? null : usage.inputTokens + usage.outputTokens);
    for (const part of typeof content === "string" ? [
      {
        type: "text",
        text: content
      }
    ] : content) {
      if (part.type === "text" && part.text !== "") this.#place(entry.seq);
      if (part.type === "text" || part.type === "reasoning") this.#say(part.type, part.text);
      else if (part.type === "file") this.#say("text", sayContent([
        part
      ]));
      else if (part.type === "tool-result") this.#say("text", sayOutput(part.output));
      this.#close();
    }
    for (const { ref: ref2, name, input } of calls) {
      this.#call(ref2, {
        name,
        args: sayValue2(input),
        state: "running"
      });
    }
    if (entry.reason === "length" || entry.reason === "content-filter") this.#end(entry.reason, ref);
  }
  /** Takes in an event. */
  event(event) {
    switch (event.type) {
      case "user.message":
        return this.#push({
          kind: "user",
          id: event.ref,
          text: sayContent(event.input),
          isPinned: false
        });
      case "step.started":
        this.#close();
        this.points.push(null);
        this.#isCounted = false;
        return;
      case "text.delta":
        return this.#say("text", event.text);
      case "reasoning.delta":
        return this.#say("reasoning", event.text);
      case "part.end":
        return this.#close();
      case "part":
        this.#close();
        if (event.part.type === "file") this.#say("text", sayContent([
          event.part
        ]));
        return this.#close();
      case "tool.input.delta": {
        const args = this.#known(event.ref)?.args ?? "";
        return this.#call(event.ref, {
          name: event.name,
          args: args + event.delta,
          state: "writing"
        });
      }
      case "tool.call":
        return this.#call(event.ref, {
          name: event.name,
          args: sayValue2(event.input),
          state: "running"
        });
      case "tool.progress":
        return this.#call(event.ref, {
          name: event.name,
          progress: sayValue2(event.data)
        });
      case "tool.result": {
        const { ref, name, status, output, shortened, ms, denied } = event;
        const said = denied === true ? "Not allowed" : sayValue2(output);
        return this.#call(ref, {
          name,
          state: status,
          output: said,
          isShortened: shortened,
          ms,
          progress: null
        });
      }
      case "context":
        return this.#point(event);
      case "compaction":
        if (event.phase !== "started" && event.phase !== "nothing") this.#mark(event.phase, event);
        return;
      case "turn.paused":
        for (const { ref, name, input } of event.pending) this.waits(ref, {
          name,
          input
        });
        return;
      case "turn.finished":
        return this.#end(event.reason, event.id);
      case "error":
        return this.note(event.message, "bad");
    }
  }
  /** A call waits for somebody. */
  waits(ref, { name, input }) {
    this.#call(ref, {
      name,
      args: sayValue2(input),
      state: "waiting"
    });
  }
  /** What the user says, before the service has told of it. */
  said(text2) {
    this.#push({
      kind: "user",
      id: this.#id(),
      text: text2,
      isPinned: false
    });
  }
  /** Says something in between. */
  note(text2, tone) {
    this.#push({
      kind: "note",
      id: this.#id(),
      tone,
      text: text2
    });
  }
  #id() {
    return `n${this.#next++}`;
  }
  #known(ref) {
    return this.#items[this.#calls.get(ref) ?? -1];
  }
  #push(item) {
    const seq = item.id.match(/^e(\d+)(?:\.\d+)?$/)?.[1];
    if (seq !== void 0) this.#place(Number(seq));
    this.#items.push(item);
    this.#isOpen = false;
  }
  /** The item that comes next is of an entry. */
  #place(seq) {
    const places = this.#places.get(seq);
    if (places === void 0) this.#places.set(seq, [
      this.#items.length
    ]);
    else places.push(this.#items.length);
  }
  /** Whether the last item is text that goes on. */
  #isOpen = false;
  #close() {
    this.#isOpen = false;
  }
  #say(kind, text2) {
    if (text2 === "") return;
    const last = this.#items.at(-1);
    if (this.#isOpen && last?.kind === kind) {
      this.#items[this.#items.length - 1] = {
        ...last,
        text: last.text + text2
      };
      return;
    }
    this.#items.push({
      kind,
      id: this.#id(),
      text: text2
    });
    this.#isOpen = true;
  }
  #call(ref, change2) {
    const known = this.#known(ref);
    if (known !== void 0) {
      this.#items[this.#calls.get(ref) ?? 0] = {
        ...known,
        ...change2
      };
      return;
    }
    this.#calls.set(ref, this.#items.length);
    this.#push({
      kind: "call",
      id: ref,
      args: "",
      state: "running",
      output: null,
      isShortened: false,
      ms: null,
      progress: null,
      ...change2
    });
  }
  /** Whether the last point was counted. */
  #isCounted = false;
  /** Takes a count where the step has one, else the lowest of its bounds: it is nearest to what is billed. */
  #point({ tokens, tier }) {
    const last = this.points.length - 1;
    if (last < 0) return;
    if (tier !== "bound") this.#isCounted = true;
    else if (this.#isCounted) return;
    this.points[last] = tier === "bound" ? Math.min(tokens, this.points[last] ?? Infinity) : tokens;
  }
  #mark(phase, facts) {
    const { reason, pairs = 0, method = null, tokensBefore = null, tokensAfter = null, resolved = null } = facts;
    const step = this.points.length;
    const mark = {
      phase,
      step,
      pairs,
      method,
      tokensBefore,
      tokensAfter,
      reason,
      resolved
    };
    this.marks.push(mark);
    this.#push({
      kind: "compaction",
      id: this.#id(),
      mark
    });
  }
  #end(reason, id) {
    const text2 = ENDS2[reason];
    if (text2 !== void 0) this.#push({
      kind: "note",
      id: `end ${id}`,
      tone: "plain",
      text: text2
    });
  }
};

async function storedEntries(client, session) {
  const entries = [];
  for (let from = 0; from !== null; ) {
    const page = await client.sessions.messages(session, {
      from
    });
    entries.push(...page.entries);
    from = page.next;
  }
  return entries;
}

var PAUSE_MS = {
  least: 250,
  most: 2e3,
  share: 4
};
var Pace = class {
  #once;
  #clock;
  #isAtIt = false;
  #isAsked = false;
  /** Makes it. */
  constructor(once, clock) {
    this.#once = once;
    this.#clock = clock;
  }
  /** Asks for it. */
  async ask() {
    if (this.#isAtIt) {
      this.#isAsked = true;
      return;
    }
    this.#isAtIt = true;
    const began = this.#clock.now();
    try {
      await this.#once();
    } finally {
      void this.#rest(this.#clock.now() - began);
    }
  }
  async #rest(took) {
    await this.#clock.sleep(Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, PAUSE_MS.share * took)));
    this.#isAtIt = false;
    if (!this.#isAsked) return;
    this.#isAsked = false;
    await this.ask();
  }
};

function isOneOf(error, codes) {
  return error instanceof ClientError && codes.includes(error.code);
}
function isAnswered(error) {
  return isOneOf(error, [
    "call_not_pending",
    "turn_not_paused",
    "turn_running",
    "turn_over"
  ]);
}
function isTaken(error) {
  return isOneOf(error, [
    "turn_running",
    "turn_paused"
  ]);
}
function isGone2(error) {
  return isOneOf(error, [
    "stream_lost",
    "turn_not_found"
  ]);
}

var Session = class {
  name;
  #client;
  #onChange;
  items = new Items();
  standing = "loading";
  /** Why it failed. */
  problem = "";
  /** What is told of the turn until it is over. */
  notice = "";
  context = null;
  pending = [];
  /** What was said to the running turn, and waits for its next step. */
  unheard = [];
  /** The agent that answered last, null for a new session. */
  agent = null;
  #turn = null;
  /** The turn that was stopped last. */
  #stopped = null;
  #isOver = false;
  /** Whether the service has anything of it. */
  #isStored = false;
  #looks;
  /** Makes it; `load()` reads what there is. */
  constructor(client, { name, onChange, clock = systemClock }) {
    this.#client = client;
    this.#looks = new Pace(() => this.#look(), clock);
    this.name = name;
    this.#onChange = onChange;
  }
  /** Whether the turn is to end, which takes its time while the service is away. */
  get isStopping() {
    return this.#stopped !== null && this.#stopped === this.#turn;
  }
  /** Reads what there is, and goes on with a turn that runs. */
  async load() {
    if (!SESSION_ID.test(this.name)) return this.#set("misnamed");
    this.#set("loading");
    try {
      const details = await this.#client.sessions.get(this.name);
      const entries = await storedEntries(this.#client, this.name);
      if (this.#isOver) return;
      this.agent = details.agent;
      this.#isStored = true;
      void this.#looks.ask();
      await this.#take(details, entries);
    } catch (error) {
      if (error instanceof ClientError && error.code === "session_not_found") {
        this.items = new Items();
        this.context = null;
        this.#isStored = false;
        return this.#set("idle");
      }
      this.#fail(error);
    }
  }
  /** Looks whether another window has gone on with the session, and shows what came of it. */
  async refresh() {
    const { standing } = this;
    if (!this.#isStored || standing !== "idle" && standing !== "paused") return;
    try {
      const { running, paused, entries, view } = await this.#client.sessions.get(this.name);
      const isShown = running === null && (paused?.pending.length ?? 0) === this.pending.length && entries === this.context?.atoms.at(-1)?.to && view === this.context.view;
      if (isShown) return;
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      if (!isRefusal(error)) return;
    }
    if (!this.#isOver && this.standing === standing) await this.load();
  }
  /** Begins a session that is known to be new. */
  begin() {
    this.#set("idle");
  }
  /** The service wants a key first. */
  lock() {
    this.#set("locked");
  }
  /** Leaves the session; what runs goes on. */
  close() {
    this.#isOver = true;
  }
  /** Sends a message: to the turn that runs, or as a new one. */
  async send(input, agent) {
    if (this.standing === "running" && this.#turn !== null) return await this.#say(this.#turn, input);
    this.notice = "";
    this.items.said(input);
    const named2 = this.agent ?? agent;
    await this.#play(this.#client.turn({
      session: this.name,
      input,
      // Who leaves the page comes back to it.
      onDisconnect: "continue",
      ...named2 === null ? {} : {
        agent: named2
      }
    }));
  }
  /** Says something to a turn that runs: it is heard at the next step. */
  async #say(turn, input) {
    this.unheard = [
      ...this.unheard,
      input
    ];
    this.#onChange();
    try {
      await turn.send(input);
    } catch (error) {
      this.#heard(input);
      this.items.note(sayError(error), "bad");
      this.#onChange();
    }
  }
  #heard(input) {
    const at2 = this.unheard.indexOf(input);
    this.unheard = this.unheard.filter((_4, index) => index !== at2);
  }
  /** Ends the turn that runs or waits. */
  async stop() {
    const turn = this.#turn;
    if (turn === null) return;
    this.#stopped = turn;
    this.#onChange();
    try {
      await turn.cancel();
      if (this.standing === "paused") await this.load();
    } catch (error) {
      this.#stopped = null;
      this.#fail(error);
    }
  }
  /** Answers one of the calls that wait. */
  async answer(answer) {
    const turn = this.#turn;
    if (turn === null) return;
    try {
      await turn.answer("result" in answer ? {
        results: [
          answer.result
        ]
      } : {
        approvals: [
          answer.approval
        ]
      });
    } catch (error) {
      if (isAnswered(error)) {
        this.notice = "Already answered in another window.";
        return await this.load();
      }
      await this.load();
      this.items.note(sayError(error), "bad");
      return this.#onChange();
    }
    const { ref } = "result" in answer ? answer.result : answer.approval;
    await this.#play(turn, {
      pending: this.pending.filter((call) => call.ref !== ref)
    });
  }
  /** Shows what is stored. Of a turn that runs only the input is taken from there: its events tell all the rest. */
  async #take({ running, paused }, entries) {
    const items = new Items();
    const isTold = (entry) => running !== null && entry.turn === running.turn && (entry.kind !== "user" || entry.mail !== void 0);
    for (const entry of entries) if (!isTold(entry)) items.entry(entry);
    this.items = items;
    if (paused !== null) {
      this.#turn = this.#client.follow(paused.turn);
      this.pending = paused.pending;
      for (const call of this.pending) items.waits(call.ref, call);
      return this.#set("paused");
    }
    this.pending = [];
    if (running === null) return this.#set("idle");
    try {
      await this.#play(this.#client.follow(running.turn), {
        isFollowed: true
      });
    } catch (error) {
      if (!isGone2(error)) throw error;
      for (const entry of entries) if (isTold(entry)) items.entry(entry);
      this.#set("idle");
    }
  }
  /** Shows the events of a turn to its end, or to where it waits. */
  async #play(turn, { isFollowed = false, pending = [] } = {}) {
    this.#turn = turn;
    this.pending = pending;
    this.#set("running");
    const { items } = this;
    try {
      for await (const event of turn) {
        if (this.#isOver) return;
        this.#isStored = true;
        items.event(event);
        if (event.type === "turn.started") this.agent = event.agent;
        if (event.type === "user.message") this.#heard(sayContent(event.input));
        if (!event.type.endsWith(".delta")) void this.#looks.ask();
        this.#onChange();
      }
      if (turn.pending.length > 0 && this.isStopping) return await this.load();
      if (turn.id === null) items.note("Stopped before it began: it is not part of the session.", "plain");
      this.pending = turn.pending;
      if (this.pending.length === 0) this.notice = "";
      this.#set(this.pending.length > 0 ? "paused" : "idle");
    } catch (error) {
      if (isFollowed) throw error;
      if (!isTaken(error)) return this.#fail(error);
      await this.load();
      this.items.note(error.message, "bad");
      this.#onChange();
    } finally {
      this.unheard = [];
      void this.#looks.ask();
    }
  }
  /** Looks at the context. */
  async #look() {
    if (!this.#isStored || this.#isOver) return;
    try {
      this.context = await this.#client.sessions.context(this.name);
      if (!this.#isOver) this.#onChange();
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
    }
  }
  #set(standing) {
    this.standing = standing;
    if (!this.#isOver) this.#onChange();
  }
  #fail(error) {
    if (this.#isOver) return;
    if (error instanceof ClientError && error.status === 401) return this.#set("locked");
    if (isRefusal(error)) {
      this.items.note(error.message, "bad");
      return this.#set("idle");
    }
    this.problem = sayError(error);
    this.#set("failed");
  }
};

var DEMO = {
  agent: "demo",
  input: "Audit the workspace"
};
function named() {
  const text2 = location.hash.slice(1);
  try {
    return decodeURIComponent(text2);
  } catch {
    return text2;
  }
}
var made = /* @__PURE__ */ new Set();
function newName(prefix) {
  const random = crypto.getRandomValues(new Uint32Array(2));
  const name = `${prefix}-${random.reduce((text2, n3) => text2 + n3.toString(36), "")}`;
  made.add(name);
  return name;
}
function KeyForm({ isWrong, onKey }) {
  const [text2, setText] = d2("");
  const [isOdd, setOdd] = d2(false);
  return m2`<form class="card key" onSubmit=${(event) => {
    event.preventDefault();
    const key = keyOf(text2);
    setOdd(key === null);
    if (key !== null && key !== "") onKey(key);
  }}>
    <h2>This service wants a key</h2>
    ${isOdd ? m2`<p class="notice bad" role="alert">A key has letters, digits and signs of ASCII only: there is another
        character in this one.</p>` : isWrong && m2`<p class="notice bad" role="alert">That key was not taken.</p>`}
    <label for="key">Key</label>
    <input id="key" type="password" autocomplete="off" spellcheck=${false} value=${text2}
      onInput=${(event) => setText(event.target.value)} />
    <p class="actions"><button type="submit" class="main">Go on</button></p>
    <p class="fine">It stays in the memory of this tab: nothing is stored, and it is typed again after a reload.</p>
  </form>`;
}
var PLACES = {
  message: ".waiting textarea:enabled, .composer textarea:enabled",
  context: '.window .block[tabindex="0"]'
};
function goTo(place) {
  root?.querySelector(PLACES[place])?.focus();
}
function SkipLinks({ hasContext }) {
  return m2`
    <div class="skip" role="navigation" aria-label="On this page">
      <button type="button" onClick=${() => goTo("message")}>To the message</button>
      ${hasContext && m2`<button type="button" onClick=${() => goTo("context")}>To the context</button>`}
    </div>
  `;
}
function Page({ state: state2 }) {
  const { session, agents, version, isAway, hasTriedKey } = state2;
  const isShut = session.standing === "locked";
  const isMisnamed = session.standing === "misnamed";
  const others = agents.filter((name) => name !== DEMO.agent);
  A2(() => {
    document.title = isMisnamed ? "Selvage" : `${session.name} \xB7 Selvage`;
  }, [
    session,
    isMisnamed
  ]);
  return m2`
    ${!isShut && !isMisnamed && m2`<${SkipLinks} hasContext=${session.context !== null} />`}
    <header class="top">
      <p class="brand">Selvage</p>
      ${!isMisnamed && m2`<p class="session-name">Session <code>${session.name}</code></p>`}
      <nav aria-label="Pages">
        <a href="#">New session</a>
        ${agents.includes(DEMO.agent) && m2`<button type="button" onClick=${() => void startDemo()}>Demo</button>`}
        <a href=${`${SERVICE}/doctor`}>Transcript doctor</a>
      </nav>
    </header>
    ${isAway && m2`<p class="notice bad away" role="alert"><b>The server is away.</b> What was said is kept; this page
      goes on as soon as it answers again.</p>`}
    ${session.standing === "failed" && m2`
      <div class="notice bad away" role="alert">
        <p>${session.problem}</p>
        <p class="actions"><button type="button" onClick=${() => void session.load()}>Try again</button></p>
      </div>
    `}
    ${isShut ? m2`
        <main class="shut">
          <h1 class="hidden">Selvage</h1>
          <${KeyForm} isWrong=${hasTriedKey} onKey=${use} />
        </main>
      ` : isMisnamed ? m2`
        <main class="shut">
          <h1 class="hidden">Selvage</h1>
          <section class="card key" role="alert">
            <h2>The address names no session</h2>
            <p>Behind its <code>#</code> stands <code>${session.name.slice(0, 128)}${session.name.length > 128 ? " \u2026" : ""}</code></p>
            <p>The name of a session is 1 to 128 of <code>A-Z a-z 0-9 . _ : -</code>, and neither <code>.</code> nor
              <code>..</code></p>
            <p class="actions"><a href="#">New session</a></p>
          </section>
        </main>
      ` : m2`
        <main class="desk">
          <h1 class="hidden">Selvage</h1>
          <${Conversation} session=${session} agents=${others} version=${version}
            hasDemo=${agents.includes(DEMO.agent)} onDemo=${() => void startDemo()} />
          <${ContextPanel} session=${session} client=${connection.client} />
        </main>
      `}
  `;
}
var root = document.querySelector("#page");
var connection = connect((isAway) => change({
  isAway
}));
var state = null;
var isDrawing = false;
function change(to) {
  if (state === null) return;
  state = {
    ...state,
    ...to,
    version: state.version + 1
  };
  if (isDrawing || root === null) return;
  isDrawing = true;
  const draw2 = () => {
    if (!isDrawing) return;
    isDrawing = false;
    Q(m2`<${Page} state=${state} />`, root);
  };
  requestAnimationFrame(draw2);
  setTimeout(draw2, 250);
}
async function show() {
  if (named() === "") history.replaceState(null, "", `#${newName("chat")}`);
  const { client } = connection;
  const session = new Session(client, {
    name: named(),
    onChange: () => change({})
  });
  state?.session.close();
  state = {
    agents: [],
    version: 0,
    isAway: false,
    hasTriedKey: false,
    ...state,
    session
  };
  change({});
  if (made.delete(session.name)) session.begin();
  else await session.load();
  return session;
}
async function findAgents() {
  try {
    change({
      agents: await connection.agents()
    });
  } catch (error) {
    if (error instanceof ClientError && error.status === 401) state?.session.lock();
  }
}
function use(key) {
  connection.use(key);
  change({
    hasTriedKey: true
  });
  void findAgents();
  void state?.session.load();
}
async function startDemo() {
  history.pushState(null, "", `#${newName("demo")}`);
  const session = await show();
  await session.send(DEMO.input, DEMO.agent);
}
if (root !== null) {
  root.textContent = "";
  addEventListener("hashchange", () => void show());
  const look = () => void (document.visibilityState === "visible" && state?.session.refresh());
  addEventListener("focus", look);
  document.addEventListener("visibilitychange", look);
  void show();
  void findAgents();
}
