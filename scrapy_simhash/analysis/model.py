"""The table of the model that chooses the main text: see main_blocks.py.

Made by benchmarks/train_main_text.py from the 1,497 development pages of WCXB, the Web Content
Extraction Benchmark (Murrough Foley, 2026, CC-BY-4.0).  Nothing of these pages is in it but words
that occur in the names of elements on 30 of their domains or more.  Licence: the package's.
"""

_NAMES = """
aa=-0.7 about=-1.5 above=-1.2 absolute=-1.8 ac=-0.8 accent=-1 accept=-0.9 account=-1.4 action=-1.4
actions=-1.5 active=-1.1 ad=-0.7 add=-0.9 additional=-0.7 address=-1.5 ae=-1 af=-1 after=-1.1
ajax=-1.3 akismet=-0.8 alert=-1 align=-1.6 aligncenter=-1.5 aligned=-1.2 alignfull=-1.2
alignment=-0.9 all=-1.1 alt=-1.4 am=-1.4 ancestor=-2 animated=-0.9 animation=-1.8 announcement=-2
answer=1.4 ap=-1 archive=-1.4 arrow=-1.2 article=0.8 articles=-1.8 as=-0.7 aside=-2.3 at=-0.8
attribution=-0.9 author=-1.8 authors=-1.3 auto=-1.3 avatar=-1.2 ba=-0.9 back=-1.1 background=-0.9
badge=-1.2 badges=-0.9 banner=-1.6 bar=-1.9 base=-1.1 basis=-0.6 bc=-1 bd=-0.9 be=-0.7 before=-0.9
below=-1.4 benefits=1.1 between=-1.8 bf=-0.7 bg=-0.9 big=-0.9 bio=-1.9 bl=-1.1 black=-1.2
blockquote=0.8 blocks=-0.8 blue=-0.9 blurb=-1 bold=-1 book=-1.1 border=-1.3 bottom=-1.8 box=-1
br=-0.8 brand=-0.8 branding=-1.3 brands=-1.4 breadcrumb=-1.2 breadcrumbs=-1.3 browser=-1.6 bt=-1.3
btn=-1.5 btns=-1 burger=-1.7 button=-1.8 buttons=-1.6 by=-1 byline=-1.6 ca=-0.7 calc=-1.3 call=-1.3
can=0.7 canvas=-1 caption=-1.5 card=-1.1 carousel=-1.2 cart=-1.3 case=-0.7 cat=-1.3 categories=-1.7
cb=-0.9 cc=-0.7 cd=-0.7 ce=-0.7 center=-1.5 centered=-0.7 cf=-0.7 checkbox=-1.2 children=-2.6
choose=0.8 chrome=-0.9 clamp=-0.9 classic=-1.1 clear=-0.7 click=-1.4 close=-0.9 closed=-1.3
col=-0.6 collapse=-1.5 collapsed=-1.1 collapsible=-1.1 collection=-0.8 colophon=-2.4 color=-1.1
colors=-1.1 cols=-1.2 column=-1.1 columns=-1 comment=-1.9 commentform=-1.9 comments=-1.8
community=-1.1 compact=-0.6 company=-1.6 compare=-0.7 component=-0.8 consent=-1.7 contact=-1.7
contains=-1.3 contents=-1.1 control=-1.2 controls=-1.3 cookie=-1.8 cookies=-1.2 copy=-0.7
copyright=-1.5 core=-0.7 count=-1.1 counter=-1 country=-1.1 cover=-0.8 create=-0.7 credit=-1.1
ct=-0.8 cta=-1.7 ctas=-1.5 current=-1.5 cursor=-1.4 custom=-1.4 customer=-0.8 da=-1 dark=-1.2
date=-1.5 db=-0.9 dc=-0.9 dd=-0.8 de=-0.9 demo=-1.8 depth=-2.2 desc=-0.8 description=-0.6
desktop=-1.7 details=-1 df=-0.9 dialog=-1.5 direction=-2.2 disabled=-1 disclaimer=-1.6
disclosure=-1.4 display=-1 divider=-0.8 dl=-0.9 dm=-1.1 dom=-1.3 down=-1.3 download=-0.8 dr=-1.6
drawer=-1.9 drop=-1.5 dropdown=-2.4 dt=-0.7 duration=-1.6 dyn=-2 dynamic=-1.1 dz=-1.2 ea=-0.7
ease=-1.1 eb=-0.9 ed=-0.7 ee=-0.8 ef=-0.7 el=-1.7 element=-0.9 elements=-0.9 ellipsis=-0.7 em=-0.8
email=-1.3 empty=-1.1 en=-0.7 enabled=-1.2 end=-1.7 entry=1 equal=-1.5 error=-1.3 es=-1.1 even=-1.7
event=-0.7 events=-1.2 ex=-1.2 excerpt=-1.4 expand=-1.6 expanded=-1.7 explore=-1 external=-1.5
extra=-1.2 ey=-0.7 eyebrow=-0.8 fa=-0.6 facebook=-1 fade=-1.8 false=-1.5 faq=1.2 faqs=1 fb=-0.7
fc=-1 fd=-0.6 fe=-1.3 featured=-0.9 feed=-0.6 feedback=-1.5 ff=-1 fg=-0.7 field=-1 fields=-1.5
fieldset=-1.5 figcaption=-1.6 figure=-1.2 fill=-1.3 filter=-1.2 filters=-0.8 find=-0.7 first=-0.7
fit=-1 fixed=-1.6 fl=-1.5 flat=-1.6 flex=-1.3 float=-1.2 floating=-1.1 flow=-0.7 fluid=-0.9
flyout=-1.7 fn=-0.9 fo=-1.5 focus=-1.1 follow=-1.4 font=-1 foot=-1.8 footer=-2.7 form=-1.8
framework=-1.4 from=-0.7 fs=-1.1 ft=-1.3 fu=-1.4 full=-0.8 fullwidth=-0.8 fv=-1.3 fw=-1.2
gallery=-1.1 gap=-1.1 gb=-1.2 general=-0.7 get=-0.8 gf=-1.1 gfield=-1.5 gform=-1.6 gh=-1.1 gk=-1.7
global=-1.3 gq=-1.5 gradient=-1 gray=-1 grey=-0.9 grid=-0.9 group=-1.5 grow=-1.4 gs=-1.1 guest=-1.1
half=-1.1 hamburger=-1.6 has=-1.1 hc=-1 head=-1.4 header=-2.2 headline=-0.7 height=-0.7 help=-1.2
hentry=1 hero=-0.7 hidden=-1.5 hide=-1.5 holder=-1.5 home=-0.7 horizontal=-1.9 hover=-1.6 how=1.4
hr=-0.6 hs=-0.9 icon=-1.4 icons=-1.4 id=-0.6 if=-0.9 ignore=-1.2 image=-1 images=-0.8 img=-0.9
inactive=-1.3 index=-0.8 industry=-0.6 info=-1.5 information=-0.7 inherit=-1.3 init=-1.3
initial=-1.2 inline=-1.5 inner=-1 input=-1.3 inset=-1.7 inside=-1.2 instagram=-1.1 inverse=-1.4
inverted=-1.4 invisible=-1.6 ip=-1.4 is=-0.8 italic=-0.8 item=-2.1 items=-1.8 jc=-1 job=-1.1
jp=-1.3 js=-0.6 jump=-1.2 justification=-1.5 justified=-2.1 justify=-1.6 kd=-0.7 key=0.7 kp=-1.5
label=-1.2 labels=-1.4 landscape=-1.2 lang=-1.1 language=-1.2 large=-0.8 last=-0.9 latest=-1.7
lb=-0.7 learn=-0.7 left=-1.5 legacy=-0.7 legal=-1.6 legend=-1 level=-2 lg=-0.8 li=-1.1 light=-1.1
like=-1.3 line=-1.1 link=-1.8 linkedin=-0.9 links=-2 list=-1.5 listing=-1 lists=-0.9 lo=-0.8
load=-1 loading=-0.9 local=-0.8 location=-1 logged=-1 login=-1.4 logo=-1 long=0.9 loop=-1.5 lp=-1
ls=-1.1 lw=-1.2 ly=-1.3 margin=-0.7 marketing=-0.7 masthead=-2.5 mb=-0.9 mc=-1.2 md=-0.8 me=-1.3
media=-1 medium=-1 mega=-2.3 megamenu=-2.5 menu=-2.7 menus=-2.3 message=-1 meta=-1.9 metadata=-1.8
middle=-1.4 min=-0.9 mini=-0.9 ml=-1.4 mm=-1.5 mob=-1.4 mobile=-2 modal=-1.9 more=-1.3 mr=-1
ms=-1.6 msg=-0.9 mt=-1.1 multi=-1.1 muted=-1.2 mx=-0.7 my=-1.1 name=-0.6 narrow=-0.8 nav=-2.7
navbar=-2.5 navigation=-2.5 nested=-0.9 network=-1.2 neutral=-1.1 new=-0.9 news=-0.8
newsletter=-1.6 next=-0.8 nl=-0.8 no=-0.7 non=-0.7 none=-1.4 normal=-0.8 not=-0.8 notes=-1
notice=-1.5 notification=-1.1 nowrap=-1.5 nu=-1.5 number=-0.6 ny=-1 object=-2.8 oc=-1.5 odd=-1.7
off=-1.1 offcanvas=-1.7 offer=-1.4 offset=-0.7 on=-1 one=-1 only=-1.3 opacity=-1.4 open=-1.1 opt=-1
option=-1.7 options=-1.1 orange=-1 order=-1 ot=-1.3 other=-0.8 our=-1 out=-1.1 outer=-1.1
outline=-1.2 overflow=-1.1 overlay=-1.7 ow=-1.3 pa=-0.9 padding=-0.7 pages=-1.2 pagination=-1.8
pane=-0.9 panel=-1.2 parent=-1.5 part=-1.6 pb=-0.7 pe=-0.9 phone=-1 photo=-0.8 pinterest=-1 pl=-0.9
placeholder=-0.9 pointer=-1.9 policy=-1.3 popover=-1.7 popular=-1.3 popup=-2.1 pos=-1.2
position=-1.4 posts=-2.2 powered=-1.1 pq=-1 pr=-1 prev=-1.4 preview=-0.8 previous=-1.2 primary=-1.3
print=-1.6 privacy=-1.3 products=-1.1 profile=-1.3 promo=-1.2 prompt=-1.4 prose=2 ps=-1.2 pt=-0.8
publish=0.9 published=-1.7 px=-0.9 py=-1.3 qe=-1 quantity=-1 questions=-0.8 radio=-1.4 radius=-1.3
radix=-1.7 rail=-1 rating=-1 ratings=-1 read=-1.2 reader=-1.2 recent=-1.9 recommended=-1.5 red=-1
register=-1.2 regular=-0.7 related=-2.3 relative=-1.2 rem=-1.2 remove=-0.7 repeater=-1.5 reply=-0.7
request=-1.1 required=-1.5 reset=-0.7 resources=-1.7 respond=-1.9 result=-0.8 results=-0.8
reverse=-0.8 review=-0.7 reviews=-0.8 rich=1 richtext=1.4 right=-1.6 ring=-1.2 rounded=-1.2
row=-0.7 rows=-0.6 rte=1.6 sale=-0.6 save=-0.8 sb=-1.2 scale=-1.2 screen=-1.1 scroll=-1.3
scrollbar=-1.6 scroller=-1.6 sd=-1.2 sdk=-1.5 search=-1.3 searchform=-1 second=-1.3 secondary=-1.7
sections=-1.5 select=-1.3 selected=-1 selection=-0.6 selector=-1.5 self=-1 semibold=-1.2
service=-0.8 services=-1 settings=-1.4 sf=-1.6 shadow=-1.4 shape=-1.2 share=-1.5 sharing=-1.5
shipping=-0.6 shop=-1 shortcode=-1.6 show=-1.4 shrink=-0.9 side=-1.5 sidebar=-1.6 sign=-1.4
signature=-1.5 signup=-1.7 simple=-0.9 site=-0.7 size=-1.4 sk=-1.5 skin=-1.3 skip=-1.1 slide=-1.3
slider=-0.7 slogan=-1.6 slot=-0.7 sm=-1.2 small=-1.1 social=-1.6 socials=-1.6 solid=-1.1
solutions=-1.2 sort=-1.1 source=-1 space=-1.3 spacer=-0.7 sr=-1.2 ss=-0.8 st=-0.9 stack=-0.7
stacked=-1.2 start=-1.2 state=-0.9 static=-1.3 status=0.7 sticky=-2 store=-1.1 stories=-0.7
stretch=-1.9 style=-1.2 sub=-2.4 subheader=-0.9 sublabel=-1.5 submenu=-2.6 submit=-1.1 subnav=-1.9
subscribe=-1.7 subscription=-1.4 subtitle=-0.7 success=-1.1 support=-0.8 swiper=-1.5 switch=-0.9
switcher=-1.7 ta=-1.1 tab=-1 tablet=-1.8 tabs=-1 tagline=-1.2 tags=-1.5 taxonomy=-2.2 tb=-1
tbody=0.8 te=-1.5 teaser=-1.3 terms=-1.4 tertiary=-1.2 test=-1 text=-0.7 textarea=-0.9
textwidget=-2.2 tg=-0.7 the=0.7 third=-1.2 thread=-1.3 three=-1 tight=-0.8 tile=-0.8 time=-1
title=-1.5 toc=-1.9 toggle=-1.6 tool=-0.8 toolbar=-1.2 tools=-0.7 tooltip=-1.3 top=-1.6 topbar=-1.7
topics=-1.9 total=-0.7 touch=-0.8 track=-0.9 tracking=-0.9 transform=-1.7 transition=-1.6
translate=-1.6 trending=-1.6 trigger=-1.2 trust=-0.7 tw=-0.7 twitter=-1 two=-0.7 txt=-0.9 type=-0.7
ua=-1.1 uc=-1.2 ul=-1.2 undefined=-0.9 underline=-1.5 unstyled=-2.3 up=-0.9 update=-0.7
updated=-1.2 upper=-1.8 uppercase=-1.5 url=-0.9 us=-1.4 user=-0.9 utility=-1.7 validation=-1.5
variant=-0.6 vc=-0.7 vertical=-1.4 vh=-1.3 views=-1.4 visibility=-1.4 visible=-1.5 visually=-1.2
vm=-0.9 vw=-1.1 wa=-0.9 warning=-0.9 web=-0.6 website=-0.6 weight=-1.1 wf=-1.2 what=0.9 white=-1.1
whitespace=-0.6 wide=-1.1 widget=-1.7 widgets=-2.1 width=-0.9 window=-0.8 with=-0.7 without=-0.7
wrap=-1 wrapper=-0.9 wt=-1.2 xs=-1.1 yes=-1.4 youtube=-0.6 yt=-1 zd=-1.4 zk=-1.8 zx=-1.7
"""

# The log odds that a block is main text, below an element with this word in its tag, class or id.
NAMES = {word: float(odds) for word, odds in (pair.split("=") for pair in _NAMES.split())}

# Trees, between semicolons.  The nodes of each in order: a feature with its bound, the tree for
# values up to it, the tree for greater ones; or a value.
TREES = """
long_2<0.1182 links_3<0.3891 kind<14.5 -0.01 -0.241 -0.3 share_4<0.3025 long_before_share<0.8337
    again<1e-35 0.167 -0.198 -0.15 kind<14.5 0.359 -0.00862;
beside<1e-35 long_3<0.3339 series<10.5 -0.122 long_1<0.3271 0.0159 0.223 series<3.5 0.036
    again<1e-35 0.281 -0.102 best_name<1e-35 -0.344 -0.194;
long_3<0.2006 names<-5.654 -0.234 best_name<0.75 -0.11 0.115 share_3<0.05378 names<-7.051 -0.117
    0.11 ends<1e-35 kind_behind<17.5 0.112 -0.151 0.244;
mean_2<61.59 main<1e-35 best_name<0.75 -0.233 -0.0671 name_2<-1.25 -0.107 0.0756 kind<13.5
    links_4<0.1582 copies<1.5 0.2 -0.0452 -0.00226 -0.0778;
beside<1e-35 kind<14.5 share_4<0.04978 place<0.7469 0.0635 -0.13 series<4.5 0.0562
    page_size<5.253e+04 0.216 -0.13 series<8.5 -0.152 0.0121 -0.243;
worst_name<-1.85 long_3<0.143 -0.195 series<6.5 place<0.7678 -0.0504 -0.242 names<-11.35 -0.0896
    footer<1e-35 0.165 -0.344 series<4.5 7.66e-05 0.173;
beside<1e-35 share_3<0.04853 place<0.8661 kind_before<16.5 0.0605 -0.059 -0.152 series<1.5 -0.0473
    page_size<5.253e+04 series_mean<15.53 -0.06 0.17 -0.145 -0.206;
name<-1.45 page_long<0.01512 0.089 -0.148 links_2<0.4095 place<0.8281 again<1e-35 footer<1e-35
    share_3<0.02786 0.0586 0.185 -0.292 -0.0868 -0.0558 -0.121;
names<-7.811 kind<9.5 footer<1e-35 0.00581 -0.241 long_4<0.286 -0.168 -0.0343 links_2<0.1237
    name<-1.15 -0.0584 footer<1e-35 0.138 -0.259 -0.0324;
long_1<0.5042 links_behind<0.7789 series<3.5 -0.114 form<1e-35 0.0499 -0.203 page_links<0.6843
    -0.167 0.0802 series<3.5 -0.0453 place<0.6574 0.156 0.0357;
beside<1e-35 copies<1.5 place<0.788 place<0.04057 -0.154 kind_behind<10.5 pre<1e-35 0.147 -0.153
    0.0488 -0.0411 -0.0823 share_3<0.4559 -0.191 0.0533;
beside<1e-35 kind<14.5 kind<1.5 -0.216 place<0.6574 share_3<0.06159 0.0646 0.157 share_3<0.4559
    -0.0326 0.0925 -0.0379 main<1e-35 -0.185 0.0211;
worst_name<-1.75 main<1e-35 long_4<0.286 -0.137 -0.0468 copies<1.5 series<2.5 -0.0508 0.0913
    -0.0992 series<15.5 0.0349 page_size<5.253e+04 0.153 -0.165;
ends<1e-35 nav<1e-35 page_long<0.007718 0.224 long_before_share<0.852 long_before_share<0.0389
    -0.148 -0.00391 -0.143 -0.189 again<1e-35 long_before_share<0.8966 0.0909 -0.0728 -0.168;
beside<1e-35 series<10.5 long_before_share<0.6673 mean_1<162.3 -0.0111 0.111 -0.0873 form<1e-35
    ol<1e-35 0.0922 -0.0991 -0.114 share_3<0.6106 -0.148 0.106;
name_2<-1.25 place<0.8661 from_heading<1e-35 from_heading<-5.006e+05 0.00159 -0.201
    from_heading<78.5 0.05 -0.063 -0.17 ends<1e-35 mean_1<356.5 0.00411 -0.382 0.0949;
worst_name<-1.75 main<1e-35 page_long<0.01512 0.133 -0.0859 hidden<1e-35 size<195.5 -7.5e-05 0.113
    -0.199 ends<1e-35 size<556.5 0.021 -0.435 0.0847;
best_name<0.75 worst_name<-2.25 -0.117 place<0.04057 -0.215 long_before<25.5 0.04 names<-1.321
    -0.111 0.135 name_2<-1.25 ol<1e-35 0.00788 -0.284 0.0759;
beside<1e-35 series<20.5 kind_before<11.5 kind_before<1e-35 -0.227 0.0228 -0.0573 0.0695
    links_4<0.07803 footer<1e-35 kind_before<10.5 0.154 -0.0861 -0.208 -0.152;
footer<1e-35 copies<1.5 from_heading<1e-35 from_heading<-5.006e+05 0.0823 -0.204 from_heading<72.5
    size<143.5 0.0502 0.14 ol<1e-35 -0.000873 -0.184 -0.0698 -0.203;
best_name<0.85 again<1e-35 page_long<0.01512 0.149 long_4<0.4692 main<1e-35 worst_name<-2.15 -0.127
    -0.0418 0.00496 0.0411 -0.106 form<1e-35 0.0634 -0.157;
place<0.7023 place<0.09239 -0.101 page_size<2.402e+04 ends<1e-35 place<0.2108 -0.066 0.047 0.101
    -0.0525 series<11.5 -0.0997 page_size<2.283e+04 0.0503 -0.0967;
name_2<-1.25 kind_before<3.5 kind_before<1e-35 -0.203 0.0766 kind<3.5 0.105 -0.0745
    series_links<0.05227 series<11.5 0.0163 kind_before<21 0.118 -0.234 -0.034;
page_size<5.253e+04 long_before_share<0.9092 again<1e-35 name_2<-1.25 kind_before<3.5 0.0742
    -0.0218 hidden<1e-35 0.0655 -0.126 -0.0689 page_long<0.03081 0.158 -0.108 -0.182;
beside<1e-35 page_size<2.224e+04 ul<1e-35 kind<1.5 -0.14 0.0168 0.0944 form<1e-35 -0.0354 -0.293
    links_3<0.4288 names<-3.779 -0.0485 0.156 -0.148;
name<-1.55 page_long_blocks<11.5 0.0747 -0.0635 long_before_share<0.5763 long_before<2.5
    series_mean<136.1 -0.0636 0.091 0.0687 page_size<5.253e+04 worst_name<-1.75 -0.0383 0.0388
    -0.226;
footer<1e-35 size_behind<23.5 page_long<0.05298 0.0572 kind_behind<21 links_4<0.1119 -0.00829
    -0.0791 -0.168 copies<1.5 place<0.5889 0.0704 0.0117 -0.0392 -0.191;
series<5.5 place<0.8993 -0.026 -0.141 from_heading<78.5 series_mean<20.98 -0.0295 0.0792
    series<29.5 -0.0623 size_3<3.884e+04 form<1e-35 0.0573 -0.162 -0.206;
page_links<0.6394 best_name<0.85 page_size<2.402e+04 series<5.5 -0.0462 long_3<0.1252 -0.0307
    0.0642 page_links<0.04142 -0.253 name_3<-0.45 -0.111 0.0304 0.0374 0.0981;
footer<1e-35 place<0.09239 -0.0847 place<0.6122 page_size<3514 0.147 share_4<0.7017 0.0111 0.0819
    page_links<0.7224 links<0.8107 -0.0102 -0.0866 0.121 -0.182;
series<1.5 -0.0543 again<1e-35 form<1e-35 dl<1e-35 links_behind<0.7789 0.0453 page_long<0.1208
    0.0642 -0.0848 -0.153 -0.0984 size<106.5 -0.0344 -0.22;
kind<4.5 kind<1.5 -0.0956 0.0968 kind_before<4.5 0.0562 name_2<-1.25 -0.0517 series_links<0.04766
    series_links<0.001707 0.00772 0.106 long_2<0.9902 -0.0764 0.0878;
from_heading<1e-35 from_heading<-5.006e+05 0.0255 -0.16 place<0.5006 series_mean<10.5 -0.0647
    figure<1e-35 form<1e-35 0.0614 -0.0974 -0.196 ul<1e-35 -0.03 0.0379;
kind<21 page_size<3514 0.088 links<0.1387 kind_behind<18.5 page_size<4.917e+04 share_4<0.4975
    0.0129 0.0884 -0.123 page_size<1.123e+04 0.0449 -0.0806 -0.0438 -0.133;
share_4<0.9731 share_4<0.7017 page_links<0.2635 name_3<-0.75 place<0.5432 -0.0125 share_4<0.1927
    -0.0643 -0.207 links_2<0.4483 0.0347 -0.134 0.0281 0.058 -0.11;
share_4<0.9731 aside<1e-35 page_links<0.6843 name<-1.35 page_links<0.04142 0.189 -0.0293 0.0192
    names<-0.9967 share_3<0.00624 -0.0697 0.142 -0.231 -0.151 -0.106;
footer<1e-35 kind_before<3.5 kind_before<1.5 -0.0883 0.0696 kind<4.5 0.0618 page_size<3514 0.071
    mean_2<308.1 -0.0182 links_2<0.003435 -0.145 0.0198 -0.164;
series<20.5 -0.016 share_4<0.4975 page_long_blocks<65.5 0.0381 -0.052 names<-0.9967
    page_long_blocks<119.5 0.137 -0.0176 ends<1e-35 mean_2<16.72 0.132 -0.454 -0.00151;
place<0.1768 from_heading<1e-35 from_heading<-5.006e+05 0.0249 -0.168 long_before_share<0.2775
    0.0111 -0.326 long_before<11.5 kind_before<21 0.0441 -0.109 long_before_share<0.9644 -0.0063
    -0.118;
form<1e-35 place<0.04913 -0.0851 place<0.8993 kind<4.5 0.0609 kind_before<3.5 0.0538
    page_long_blocks<11.5 0.0496 name<-1.35 -0.0585 0.00582 -0.0515 -0.0915;
footer<1e-35 page_size<7.024e+04 links_4<0.06629 series_links<0.05227 series_links<1e-35
    long_1<0.02438 0.0621 -0.0274 0.0914 -0.0551 -0.012 -0.147 long_before<1.5 0.197 -0.179;
kind_before<21 page_size<2.402e+04 kind_before<1e-35 -0.168 place<0.7469 place<0.1608 -0.0268
    0.0389 -0.0171 best_name<0.85 -0.0561 page_size<7.024e+04 0.0625 -0.195 -0.0824;
footer<1e-35 kind_before<21 nav<1e-35 ul<1e-35 -0.00117 share_3<0.02786 0.00357 links_2<0.8498
    0.112 -0.0252 best_name<0.95 -0.119 0.138 -0.0755 -0.15;
again<1e-35 kind_behind<1.5 -0.111 size_behind<17.5 names<-9.567 worst_name<-2.15 -0.0405
    links_2<0.6448 0.0224 0.177 names<-8.498 -0.159 -0.0156 0.0201 -0.0395;
series<30.5 kind<3.5 0.0437 series_mean<199.7 size_3<447.5 -0.0125 -0.0762 series_links<0.001707
    from_heading<24.5 0.0553 -0.0813 0.0757 page_size<2.283e+04 0.0765 -0.016;
footer<1e-35 kind_before<1e-35 -0.134 form<1e-35 long_2<0.1993 0.0236 -0.00505 names<-22.95 0.247
    links_before<0.04703 share_3<0.4559 -0.141 0.113 0.0598 -0.127;
share_4<0.9731 series<141.5 size<16.5 page_long<0.007718 0.134 -0.0521 size_2<40.5 0.0693 0.00245
    share_3<0.1658 0.172 -0.0245 long_before_share<0.3236 0.0375 -0.116;
links<1e-35 size_before<12.5 -0.032 mean_1<418.5 0.0278 long_before_share<0.3626 0.0775
    kind_behind<3.5 0.0821 -0.158 kind_before<17.5 -0.0442 names<-5.654 0.0564 -0.0786;
page_long_blocks<6.5 links_4<0.9125 name_3<0.75 0.0256 -0.242 0.155 links<0.1476 kind_before<10.5
    0.0288 page_long_blocks<65.5 -0.000613 name_3<-0.85 -0.144 -0.00702 -0.0454;
aside<1e-35 page_size<3514 size_3<183.5 -0.0189 0.135 series<30.5 -0.00815 name_3<-0.85 -0.00174
    names<-13.72 -0.241 size_3<2.339e+04 0.101 -0.0348 -0.14;
kind<21 hidden<1e-35 page_size<5.253e+04 0.00735 place<0.318 0.0969 page_long<0.2607 0.0332 -0.266
    series<11.5 -0.129 page_size<5238 0.315 0.00153 -0.0966;
again<1e-35 figure<1e-35 series_mean<15.53 -0.0425 page_links<0.2045 links_4<0.07803 0.0135 -0.0492
    0.0377 kind_before<7.5 -0.273 0.042 series_mean<58.7 -0.00482 -0.122;
series<2.5 -0.0303 long_before<27.5 page_links<0.04142 0.157 series_mean<155.1 -0.00171 0.0635
    size_2<470.5 0.0197 links_2<0.04268 -0.0947 links_2<0.1237 0.0837 -0.128;
aside<1e-35 place<0.1608 page_long_blocks<60.5 -0.0654 0.0253 place<0.5432 0.0214 series<11.5
    page_long_blocks<58.5 -0.0567 0.0275 page_links<0.2045 -0.0197 0.0589 -0.122;
page_long_blocks<97.5 page_links<0.02457 0.141 page_long_blocks<77.5 -0.0071 ol<1e-35
    page_links<0.1587 -0.112 0.0442 -0.357 page_size<2.402e+04 0.183 kind_behind<10.5 0.0454
    -0.0846;
page_long<0.007718 table<1e-35 dl<1e-35 name<-5.65 -0.0434 0.235 -0.185 -0.24 long_4<0.6433 -0.0076
    names<-1.782 name<-0.85 0.063 -0.0245 0.113;
size_behind<77.5 links_3<1e-35 long_before<2.5 name_2<-2.95 0.0793 -0.119 0.0275 links_3<0.006803
    page_size<1.288e+04 0.0954 long_4<0.5008 -0.339 -0.0235 -0.0156 0.0239;
dl<1e-35 kind_behind<21 kind<2.5 kind<1e-35 -0.126 0.0734 0.00233 mean_2<308.1 best_name<0.85
    -0.111 0.0649 0.0956 kind<19.5 -0.164 0.181;
series_mean<155.1 name<-0.85 series_mean<20.02 -0.0275 long_2<0.1673 0.0653 0.00251
    series_mean<26.26 0.0154 -0.0595 long_before<7.5 0.093 best_name<0.75 -0.0331 0.0331;
links<0.06074 series_links<0.001707 mean_1<60.83 0.0221 kind_before<3.5 0.0432 name_3<-3.25 -0.135
    name_3<1e-35 -0.0136 kind<8.5 0.0463 -0.273 0.0442 -0.0198;
series<2.5 -0.0264 page_long<0.5574 page_long<1e-35 0.167 footer<1e-35 nav<1e-35 0.0105 -0.0906
    -0.171 names<-1.321 names<-2.122 -0.087 -0.387 0.0801;
kind<4.5 names<-15.83 0.175 size_before<73.5 -0.0152 0.0954 links<0.6306 0.00259 links_3<0.2143
    kind<7.5 -0.294 -0.0739 worst_name<-2.25 -0.0946 0.0274;
size_before<1.5 long_1<0.03711 -0.00459 -0.24 aside<1e-35 kind<21 page_size<5238 mean_1<146.3
    0.0187 0.157 0.00295 best_name<0.75 -0.133 0.0949 -0.117;
kind_behind<21 page_links<0.1587 page_links<0.1562 worst_name<-2.25 0.0571 page_links<0.1302
    page_links<0.1081 worst_name<-2.15 -0.143 -0.00769 0.0683 -0.0852 -0.235 0.0137 -0.0654;
series<141.5 series_mean<20.02 page_links<0.04142 0.139 -0.0341 page_size<5238 names<-10.21 0.112
    0.00848 -0.000323 share_4<0.9513 series_mean<5.183 -0.144 0.131 -0.123;
size_before<319.5 long_2<0.1296 links_4<1e-35 0.0568 -0.00425 long_4<0.4523 page_links<0.2635
    long_4<0.4012 -0.0471 -0.156 links_2<0.09885 -0.032 0.056 0.00475 0.0421;
long_before<2.5 mean_1<248.3 kind_behind<18.5 -0.0812 from_heading<1e-35 -0.0805 links_3<0.145
    -0.0236 0.106 0.104 size_2<78.5 name_3<-5.25 0.116 0.0154 -0.00203;
share_3<0.7043 worst_name<-1.25 share_3<0.1658 -0.00144 page_links<0.1587 -0.179 -0.00484 0.0679
    worst_name<-0.95 series<6.5 -0.0323 0.0808 long_2<0.3602 -0.363 0.00874;
links_4<0.0715 page_size<4.917e+04 long_before<82.5 links<0.212 series_links<1e-35 0.00401 0.064
    -0.0902 0.108 -0.0835 links_3<0.03655 -0.106 page_size<4.202e+04 -0.00791 0.122;
page_long_blocks<97.5 page_size<1.074e+04 0.0096 -0.0226 page_size<2.402e+04 0.152 kind<11.5
    page_long<0.1821 page_long_blocks<110.5 -0.233 0.0155 0.0501 page_long_blocks<110.5 0.102
    -0.121;
size_3<859.5 0.0108 size_3<5793 name_3<-0.75 -0.0705 name_3<1e-35 series_links<0.001707 -0.0398 0.1
    -0.107 size_before<120.5 -0.0202 page_size<5.253e+04 0.0758 -0.088;
figure<1e-35 names<-11.72 page_long<0.1755 best_name<1e-35 size_3<492.5 0.0484 -0.0614 0.0979
    size_3<3999 -0.0477 0.124 -0.00714 kind_behind<7.5 -0.226 0.0803;
ul<1e-35 share_3<0.04303 0.00894 worst_name<-2.35 0.0319 share_3<0.7043 -0.0577 pre<1e-35
    long_2<0.4289 -0.0654 0.0549 -0.189 share_3<0.4559 0.00695 0.118;
kind<2.5 page_size<7898 0.106 size_before<165.5 -0.033 0.116 page_long<0.5574 -0.00303
    worst_name<-1.15 size_3<2.339e+04 page_long_blocks<131.5 -0.29 -0.0406 0.0139 0.121;
kind<1e-35 -0.133 kind_before<3.5 0.0294 long_4<0.6674 series<151.5 page_long_blocks<97.5 -0.0197
    page_size<2.145e+04 0.197 0.0101 0.0784 page_long_blocks<125.5 0.0573 -0.071;
place<0.5432 mean_1<201.2 -0.00141 links_3<0.02897 page_long_blocks<41.5 0.0967 -0.0427 0.114
    mean_1<418.5 -0.00429 size_before<363.5 page_long_blocks<55.5 -0.165 -0.026 0.0592;
aside<1e-35 size_behind<16.5 -0.0143 figure<1e-35 series_links<0.04766 0.0257 links_3<0.03268
    series<30.5 -0.0239 -0.213 size_behind<53.5 -0.0318 0.039 -0.137 -0.103;
page_links<0.6843 links_4<0.0715 0.00898 from_heading<-5.006e+05 0.0645 page_long_blocks<32.5
    -0.0582 0.000818 share_3<0.005762 main<1e-35 0.106 -0.169 from_heading<-1e-35 -0.0334 0.11;
size_3<859.5 0.00887 links_3<0.006803 size_3<2428 0.00534 size_3<3999 long_4<0.4206 -0.0704 -0.35
    -0.0372 links<0.09146 size_2<230.5 -0.071 0.0327 -0.0446;
share_4<0.01209 -0.0261 size_3<41.5 place<0.3776 -0.0199 0.14 long_4<0.6879 page_links<0.2635
    page_links<0.229 -0.00734 -0.0812 0.0208 page_links<0.04142 -0.0603 0.0548;
kind_behind<1.5 -0.106 page_size<3514 mean_1<21.01 share_4<0.3926 -0.0828 0.0835 0.107
    size_behind<543.5 0.00119 from_heading<24.5 0.0469 mean_1<146.3 0.0363 -0.22;
long_before<27.5 series<16.5 -0.00485 ends<1e-35 size_3<2870 0.0257 series<49.5 -0.204 0.0681 0.087
    header<1e-35 series<7.5 0.0142 -0.0405 0.142;
aside<1e-35 page_size<3514 page_links<0.05967 0.235 series<3.5 page_long<0.02814 -0.137
    links_behind<0.9938 -0.0454 0.126 links_3<0.02562 -0.0257 0.126 0.000497 -0.0987;
long_before<2.5 -0.0254 footer<1e-35 kind<3.5 size_behind<37.5 -0.00842 0.0913 kind<9.5
    kind_before<6.5 0.0293 -0.032 pre<1e-35 0.0133 0.297 -0.141;
long_before<2.5 mean_1<224.3 links<0.9529 links<0.04131 -0.0451 -0.173 size<50.5
    page_long_blocks<6.5 main<1e-35 0.129 -0.0483 -0.0818 0.133 0.0698 0.0048;
hidden<1e-35 0.00422 from_heading<291.5 page_size<5912 page_links<0.1897 0.176 -0.111
    page_long<0.4237 page_links<0.08458 -0.234 series<43.5 -0.104 0.0635 0.0998 0.141;
again<1e-35 name_2<1.05 0.00094 0.111 table<1e-35 share_4<0.6108 page_long<0.1634 page_long<0.08948
    -0.0701 0.0355 ol<1e-35 -0.148 0.153 0.0351 0.0994;
name<-0.85 page_long_blocks<1e-35 0.182 name<-1.45 -0.00658 size_2<2327 0.0563 -0.109
    series_mean<250.9 -0.0255 ends<1e-35 page_long_blocks<74.5 -0.224 0.0857 0.0486;
mean_1<2.094 -0.113 long_2<0.143 0.0136 worst_name<-2.35 series<43.5 0.0181 0.187 worst_name<-1.55
    size_3<3999 -0.0456 0.0221 page_links<0.0779 -0.0605 0.0422;
dl<1e-35 page_long<0.007718 share_3<0.02786 copies<39.5 kind_before<3.5 -0.046 0.254 -0.0629
    -0.0781 -0.000692 series<14.5 0.0725 kind_behind<19.5 -0.2 0.0829;
size_before<1.5 series_links<0.02904 -0.17 0.0617 kind_before<4.5 name_3<-2.65
    long_before_share<0.5763 0.106 share_3<0.03429 0.066 -0.0688 name_3<-1.25 -0.0582 0.0172
    -0.00603;
from_heading<-5.006e+05 links_behind<0.9288 0.0107 again<1e-35 0.15 -0.0561 from_heading<1e-35
    -0.0969 ul<1e-35 names<-16.75 0.0936 -0.00854 links_4<0.3051 0.061 -0.0377;
kind<1e-35 -0.116 kind<2.5 long_before_share<0.1881 -0.0271 0.0929 kind<19.5 -0.00946 name_3<0.35
    main<1e-35 page_long_blocks<110.5 0.0558 -0.119 -0.00972 -0.162;
page_long_blocks<97.5 series<151.5 series<69.5 -0.00697 series<76.5 -0.187 -0.0268 0.0876
    page_long_blocks<119.5 0.068 kind_behind<10.5 0.0158 worst_name<-1.85 -0.161 -0.00329;
footer<1e-35 again<1e-35 series_mean<155.1 -0.00213 0.0236 size<158.5 long_before<8.5 names<-6.077
    -0.0259 -0.17 0.0295 -0.141 page_long_blocks<1e-35 0.222 -0.137;
kind<21 size_before<1.5 series_links<0.02904 -0.165 0.0422 size_before<3.5 mean_2<5.042 -0.0853
    0.111 -0.000254 best_name<0.75 -0.117 links_3<0.03268 0.141 -0.0864;
from_heading<1e-35 from_heading<-5.006e+05 size_3<686.5 0.0433 size_3<1626 -0.131 -0.00223 ol<1e-35
    -0.11 0.195 page_long_blocks<1e-35 0.15 links<0.03606 0.0106 -0.0151;
kind_behind<1e-35 -0.106 share_4<0.8419 worst_name<-0.85 -0.00489 0.165 names<-2.122 share_4<0.9984
    0.0786 -0.0668 long_before<25.5 ends<1e-35 -0.0832 0.115 -0.0831;
from_heading<54.5 series<16.5 ol<1e-35 long_before<11.5 0.0111 size_behind<92.5 -0.0681 0.034 0.143
    from_heading<-1e-35 long_before_share<0.6931 -0.0581 0.105 0.0815 -0.00763;
name_2<1.05 share_3<0.03429 page_long<0.007718 0.123 share_4<0.02683 pre<1e-35 name_2<-4.25 0.0465
    -0.0244 0.195 long_before_share<0.9783 0.0373 -0.105 -0.0111 0.0899
"""
